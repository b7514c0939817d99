"""Many jobs: a plan, cut into jobs, and the engines that run them on one machine or on many.

plan           environments × agents × grids × seeds, read from TOML
estimates      the machine at hand; memory, disk and time of jobs, without jax
cutting        a plan as jobs, and ``sweep.json``, which keeps them
status         where each job stands, from its files
engine, local, on_ray      who runs the jobs: this machine, or Ray
work           one job in a process of its own
collecting     the results of all jobs as if one had made them
"""
