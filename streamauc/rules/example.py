"""A rules file to begin with: every key, commented; of the metrics' parameters the usual ones."""

EXAMPLE = '''\
# Alert rules of streamauc. Check this file with `streamauc rules lint`, evaluate it with
# `streamauc check`. Lengths of time are text such as "90s", "15m", "1h30m" or "7d".

# All detectors of this file together give one false alarm in so long, on average.
[budget]
false_alarm_every = "30d"

# ---- The ranking got worse -------------------------------------------------------------------
[[rule]]
alert = "RankingWorse"
# Any metric of the catalogue: roc_auc, prevalence, average_precision, precision@0.7, n_samples ...
metric = "roc_auc"
# Which series: labels must be equal; "~eu-.*" is a regular expression, "!test" is "not test".
series = { model = "fraud" }
# Of the 3 hours that ended 6 hours ago, when most outcomes are known.
window = "3h"
offset = "6h"
# Fire below this value, and once it fires, go on until it is at least clear_above.
below = 0.80
clear_above = 0.82
# Only if the whole interval is below: "value" (the default) compares the value alone.
by = "bound"
level = 0.95
# With fewer events or labels there is nothing to judge.
min_pos = 30
min_neg = 30
min_coverage = 0.9
# It must last so long before it fires, and is kept firing so long after it is over.
for = "15m"
keep_firing_for = "30m"
# Without data: "no_data" (a state of its own), "ok", "firing" or "keep", once it lasted so long.
no_data = "no_data"
no_data_after = "1h"

[rule.labels]
# "warning" (the default) or "critical": the exit codes 1 and 2 of `streamauc check`.
severity = "critical"
team = "payments"

[rule.annotations]
summary = "{{ $labels.model }} ranks worse: AUC {{ $value | printf \\"%.3f\\" }}"
description = """
{{ $alert }}: {{ $reason }}
"""

# ---- Precision at the threshold in use, whatever the class ratio is today ----------------------
[[rule]]
alert = "PrecisionLow"
metric = "precision"
threshold = 0.7
prevalence = 0.01        # what precision would be at this class ratio
window = "1d"
offset = "6h"
below = 0.25

# ---- Outside a band ----------------------------------------------------------------------------
[[rule]]
alert = "AlertRateUnusual"
metric = "alert_rate@0.7"
window = "1h"
below = 0.001            # fires below this ...
above = 0.02             # ... and above that
annotations = { summary = "{{ $value | humanizePercentage }} of events are flagged" }

# ---- What the decisions cost, by what a miss and a false alarm cost ------------------------------
[[rule]]
alert = "DecisionsExpensive"
metric = "mean_cost@0.7"
fn = 120.0
fp = 3.5
window = "1d"
offset = "6h"
above = 0.9

# ---- Compared with something else ----------------------------------------------------------------
[[rule]]
alert = "RankingWorseThanLastWeek"
metric = "roc_auc_difference"     # or prevalence_difference, prevalence_ratio, psi.overall ...
reference = "7d"                  # the same window a week ago; "previous", or a named reference
window = "1d"
offset = "6h"
below = -0.02
by = "bound"

[[rule]]
alert = "NegativesMovedUp"
# The part of the change of average precision that is due to the negatives' scores.
metric = "average_precision_change.negatives"
reference = "previous"
window = "1d"
offset = "6h"
below = -0.05

# ---- The class ratio has moved: a detector with a promise about false alarms ---------------------
[[rule]]
alert = "ClassRatioMoved"
detector = "prevalence"
reference = 0.01                  # known, or the name of a reference in the store
tolerance = 0.1                   # a relative change of no interest
pane = "5m"
offset = "6h"                     # panes are read when their labels are mature
min_coverage = 0.9
series = { model = "fraud" }
max_series = 1                    # the budget is split for so many series
weight = 1                        # this rule's share of the budget, beside other detectors

# ---- The same promise for the ranking, and for the scores of each class --------------------------
[[rule]]
alert = "RankingMoved"
detector = "ranking"              # a recalibration of all scores is no reason to fire
reference = 0.86                  # a known AUC, or the name of a reference
offset = "6h"
min_coverage = 0.9
series = { model = "fraud" }

[[rule]]
alert = "ScoresMoved"
detector = "shift"                # names the class whose scores moved
reference = "fraud-v3"            # kept with store.reference("fraud-v3", window)
tolerance = 0.02                  # of the mean rank, which is 0.5 while nothing moves
offset = "6h"
min_coverage = 0.9
series = { model = "fraud" }

# ---- Is anything coming in? --------------------------------------------------------------------
[[rule]]
alert = "StreamSilent"
metric = "newest_event_age"
above = "15m"
no_data = "firing"                # no event at all is just as bad
no_data_after = "15m"
labels = { severity = "critical" }

[[rule]]
alert = "LabelsLate"
metric = "coverage"
window = "1d"
offset = "1d"
below = 0.9

[[rule]]
alert = "EventsRejected"
# Of the events offered since the check an hour ago. Checks are remembered ever more sparsely, so
# it may be one up to a third earlier; with rarer checks it is the one before. The first check of
# an old stream has none to compare with, and no data.
metric = "rejected_share"
window = "1h"                     # the default
above = 0.01

[[rule]]
alert = "WriterDead"
# A worker that ended without closing its monitor is missed until it is back, or until somebody
# says that it will not be: streamauc store retire STORE.db WRITER
metric = "seconds_since_flush"
above = "5m"
for = "2m"
'''


def example() -> str:
    """Return the text of a rules file that shows every key."""
    return EXAMPLE
