"""Before the labels come: what the scores alone say, under either of two assumptions.

* *Label shift*: a positive's score is drawn as it was in the reference, and so is a negative's;
  only the class ratio changed. Then the current scores say how many positives there are
  (`label_shift`).
* *Covariate shift*: a score means the same chance of a positive as in the reference; only how
  often each score occurs changed. Then they say what AUC, average precision, precision and
  recall to expect (`expected_performance`).

No test can tell from scores alone which of the two holds, if either does: nearly every mixture of
current scores is possible under both. Label shift can at least be refuted (`LabelShift.fit`).
"""

from streamauc.change.label_shift.expected import ExpectedPerformance, expected_performance
from streamauc.change.label_shift.fit import Fit
from streamauc.change.label_shift.shift import LabelShift, label_shift

__all__ = ["ExpectedPerformance", "Fit", "LabelShift", "expected_performance", "label_shift"]
