"""What the paper reports, compared with our results.

    figures              the tabular figures 1, 3 and 5, declared as data
    findings             what the paper says of them, tested on our curves
    admission            which training runs may be compared with the published scores
    agreement            the test of agreement, for each game and agent
    claims               each claim of the paper, with a verdict
    certificate          all of this in one value; `certificate_tables` writes it as text
    overall              all games together, ours and published, for Figure 6

The certificate of the runs in some directories:

    from qduet.paper import FIGURES, certify

    certify([Path("results/figure6")]).differs       # whether anything contradicts the paper
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qduet.paper.certificate import Certificate, certify
    from qduet.paper.figures import FIGURES

__all__ = ["FIGURES", "Certificate", "certify"]


def __getattr__(name: str) -> Any:
    """The public names, imported when they are first used."""
    if name == "FIGURES":
        from qduet.paper.figures import FIGURES

        return FIGURES
    if name in __all__:
        from qduet.paper import certificate

        return getattr(certificate, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
