"""Pictures of histories and curves, drawn with matplotlib (the extra ``plot``).

`over_time.draw_history`, `curves.draw_roc` and `curves.draw_precision_recall` draw into an `Axes`
of yours, and so does `evidence.draw_evidence` with a detector's evidence; `drift.DriftMarks` says
what is known of changes of the class ratio. `overview.overview` makes a whole figure of them and
`overview.save` writes it. Nothing here touches pyplot or any other state of matplotlib that is
shared, so threads may draw at once.
"""

from importlib.util import find_spec

if find_spec("matplotlib") is None:
    raise ImportError(
        "plots need the extra 'plot': pip install 'streamauc-engine[plot]' from a checkout"
        " (pip install '.[plot]'), got no module 'matplotlib'",
        name="matplotlib",
    )
