"""Pictures of windows, histories and changes, drawn with matplotlib (the extra ``plot``).

Every ``draw_`` function draws into an `Axes` of yours and returns it:

* of some counts: `draw_roc`, `draw_precision_recall`, `draw_scores`, `draw_reliability`,
  `draw_cost`, `draw_cost_curve` and `draw_gain`;
* of a history: `draw_history` and `draw_coverage`; of a detector: `draw_evidence`.

`DriftMarks` says what is known of changes, `AlarmMark.at` when a detector of any kind saw one.
`overview.overview` makes a whole figure and `overview.save` writes it. Nothing here touches pyplot
or any other state of matplotlib that is shared, so threads may draw at once.
"""

from importlib.util import find_spec

if find_spec("matplotlib") is None:
    raise ImportError(
        "plots need the extra 'plot': pip install 'streamauc-engine[plot]' from a checkout"
        " (pip install '.[plot]'), got no module 'matplotlib'",
        name="matplotlib",
    )

from streamauc.plot.cost import draw_cost
from streamauc.plot.cost_curve import draw_cost_curve
from streamauc.plot.coverage import draw_coverage
from streamauc.plot.curves import draw_precision_recall, draw_roc
from streamauc.plot.drift import AlarmMark, DriftMarks
from streamauc.plot.evidence import draw_evidence
from streamauc.plot.gain import draw_gain
from streamauc.plot.over_time import draw_history
from streamauc.plot.reliability import draw_reliability
from streamauc.plot.scores import draw_scores

__all__ = [
    "AlarmMark",
    "DriftMarks",
    "draw_cost",
    "draw_cost_curve",
    "draw_coverage",
    "draw_evidence",
    "draw_gain",
    "draw_history",
    "draw_precision_recall",
    "draw_reliability",
    "draw_roc",
    "draw_scores",
]
