"""Every claim of the paper, checked on finite MDPs.

One named check per claim, `Check(claim, holds, margin, evidence)`; `CLAIMS` lists them.

    >>> from qduet.theory import CLAIMS, problem_of
    >>> problem = problem_of(four_state("qvmax", num_actions=18))
    >>> CLAIMS["qvmax_bias"].check(problem).holds
    True

`problems` makes MDPs to check on, `expected` writes each rule's expected update with the operators,
`sampled` averages the rules of `rules.py` over all transitions, `qv` and `av` hold the claims of
the paper's sections 3 and 4, `rates` says how fast each rule learns, `suite` runs it all.
"""
