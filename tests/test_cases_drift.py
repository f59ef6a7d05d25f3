"""Cases from public bug reports of other tools that have to do with drift; see `cases.jsonl`."""

import numpy as np
from cases import CASES, agree

from streamauc import Monitor, Scale, ScoreHistogram
from streamauc.storage import WideCounts

EXACT = Scale.exact()


def test_class_ratio_shift():
    """The model did not change: at another prevalence its AUC stays and its precision does not."""
    case = CASES["class-ratio-shift"]
    rows = sorted(case["input"]["histogram"]["rows"])
    counts = np.array([[neg for *_, neg in rows], [pos for _, pos, _ in rows]])
    monitor = Monitor(scale=EXACT, clock="event")
    bins = EXACT.bins([score for score, *_ in rows])
    monitor.update_histogram(ScoreHistogram(EXACT, WideCounts(bins, counts)), 0)
    window, at = monitor.window(0, 60), case["query"]["threshold"]
    found = {
        str(share): {
            "roc_auc": window.value("roc_auc"),
            "precision": window.value("precision", threshold=at, prevalence=share),
            "average_precision": window.value("average_precision", prevalence=share),
        }
        for share in case["input"]["prevalences"]
    }

    assert agree(found, case["expected"], case["tol"]), found
