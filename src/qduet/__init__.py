"""Temporal-difference methods that learn two value functions together.

QV-learning learns action values Q beside state values V; AV-learning learns advantages A beside V.
``qduet`` holds the algorithms, environments, experiments and theory of "An Analysis of Action-Value
Temporal-Difference Methods That Learn State Values" (Daley, Nagarajan, White and Machado, RLC
2025), as a library and as the command ``qduet``.
"""

__version__ = "0.1.0"
