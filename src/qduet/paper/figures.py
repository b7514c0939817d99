"""The paper's tabular figures, declared as data.

>>> FIGURES["figure5"].small().actions
(2, 18)
"""

from qduet.tabular.experiments import RuleSpec, TabularExperiment

FIGURES: dict[str, TabularExperiment] = {
    experiment.figure: experiment
    for experiment in (
        TabularExperiment(
            figure="figure1",
            title="On-policy prediction",
            problem="on-policy",
            rules=(RuleSpec("expected_sarsa"), RuleSpec("qv_learning")),
        ),
        TabularExperiment(
            figure="figure3",
            title="Off-policy control with QV-learning",
            problem="qvmax",
            rules=(RuleSpec("q_learning"), RuleSpec("qvmax"), RuleSpec("bc_qvmax")),
        ),
        TabularExperiment(
            figure="figure5",
            title="Off-policy control with AV-learning",
            problem="dueling",
            rules=(RuleSpec("q_learning"), RuleSpec("dueling_q"), RuleSpec("hard_rdq")),
            init_std=2.0,
        ),
        TabularExperiment(
            figure="figure5-soft",
            title="Soft RDQ beside the rules of Figure 5 (not in the paper)",
            problem="dueling",
            rules=(
                RuleSpec("q_learning"),
                RuleSpec("hard_rdq"),
                RuleSpec("soft_rdq", beta=1e-5),
                RuleSpec("soft_rdq", beta=1e-4),
                RuleSpec("soft_rdq", beta=1e-3),
            ),
            init_std=2.0,
            actions=(2, 10, 18),
        ),
    )
}
"""Figures 1, 3 and 5 of the paper, and Figure 5 with Soft RDQ."""
