"""Our results against the published ones: cell by cell, and claim by claim.

    certificate = certify([Path("results/figure6")])
    certificate.cells[0].verdict                   # "agree", "differ" or "undecided"
    certificate.differs                            # whether anything speaks against the paper

`admission` says which data may be certified, `cells` compares each game and agent with the
published scores, `claims` tries what the paper says, `tables` writes it all down.
"""

from qduet.paper.certificate.admission import admit
from qduet.paper.certificate.cells import MARGIN, Cell, compare_cells
from qduet.paper.certificate.claims import Claim, deep_claims, reproduced_claims
from qduet.paper.certificate.document import Certificate, certify

__all__ = [
    "MARGIN",
    "Cell",
    "Certificate",
    "Claim",
    "admit",
    "certify",
    "compare_cells",
    "deep_claims",
    "reproduced_claims",
]
