"""What every room stands on; nothing here knows of reinforcement learning.

    errors       `InputError`: what was wrong with the input, in one line
    shipped      where the results and examples are that come with qduet
    reading      files that may be anything: bounded, checked, refused by name
    files        atomic writes; curves files (npz) and JSON that check themselves
    tensors      pytrees in safetensors files
    digests      fingerprints of traced functions
    xla          hints to the compiler
    tables       rows of text as tables, for the terminal and for Markdown
    machine      the CPU cores that may be used
    provenance   versions, device and commit, for a results directory

Every error that a user can cause is an `InputError`:

    from qduet.core import InputError

    try:
        runs = load_runs("out/breakout")
    except InputError as error:
        print(error)
"""

from qduet.core.errors import InputError

__all__ = ["InputError"]
