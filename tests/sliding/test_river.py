"""The metrics for River, wherever River takes one, against the offline answer."""

import copy
import math
import subprocess
import sys
from itertools import islice

import numpy as np
import pytest
from river import (
    anomaly,
    datasets,
    dummy,
    evaluate,
    linear_model,
    metrics,
    model_selection,
    preprocessing,
    stream,
    utils,
)

from streamauc import Scale, ScoreHistogram, average_precision, roc_auc, threshold_counts
from streamauc.river import PRAUC, ROCAUC

EXACT = Scale.exact()
N = 400
OFFLINE = {ROCAUC: roc_auc, PRAUC: average_precision}


def model():
    """Return a model of River's."""
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


def offline(metric, rows):
    """Return the metric of (label, score) rows, all at once."""
    y_true, y_score = ([row[column] for row in rows] for column in (0, 1))
    histogram = ScoreHistogram.from_scores(y_true, y_score, scale=EXACT)
    return OFFLINE[metric](threshold_counts(histogram))


def predictions(n=N):
    """Return the labels and scores of the model on a data set of River's, as it learns."""
    found, learner = [], model()
    for x, y in islice(datasets.Phishing(), n):
        found.append((y, learner.predict_proba_one(x).get(True, 0.0)))
        learner.learn_one(x, y)
    return found


@pytest.mark.parametrize("window", [50, 1_000])
@pytest.mark.parametrize("metric", OFFLINE)
def test_every_prefix_of_a_real_run(metric, window):
    """`iter_progressive_val_score` reads after every event: equal to the offline answer."""
    rows = predictions()
    steps = evaluate.iter_progressive_val_score(
        islice(datasets.Phishing(), N), model(), metric(window=window), step=1
    )
    n_steps = 0
    for n_steps, step in enumerate(steps, start=1):
        found = step[metric.__name__].get()
        np.testing.assert_equal(found, offline(metric, rows[max(0, n_steps - window) : n_steps]))
    assert n_steps == N


def test_river_says_the_same_without_ties():
    """Beside River's own tracker, on scores that are all different."""
    rng = np.random.default_rng(0)
    ours, theirs = ROCAUC(window=60), metrics.RollingROCAUC(window_size=60)
    for seen in range(300):
        y_true = bool(rng.random() < 0.4)
        y_pred = float(rng.normal(y_true))
        ours.update(y_true, y_pred)
        theirs.update(y_true, y_pred)
        if seen > 20:
            assert ours.get() == pytest.approx(theirs.get(), rel=1e-12)


def test_delayed_labels():
    """With a delay the metric gets each event when its label is known: all of them, once."""
    metric = evaluate.progressive_val_score(
        islice(datasets.Phishing(), N), model(), ROCAUC(window=150), delay=30
    )
    rows, asked, learner = [], {}, model()
    for place, x, y in stream.simulate_qa(islice(datasets.Phishing(), N), None, 30, copy=True):
        if y is None:
            asked[place] = learner.predict_proba_one(x).get(True, 0.0)
        else:
            rows.append((y, asked.pop(place)))
            learner.learn_one(x, y)
    assert len(rows) == N
    assert metric.get() == offline(ROCAUC, rows[-150:])
    assert metric.get() != offline(ROCAUC, predictions()[-150:])


def test_composition():
    """Added to each other, and to metrics that want labels, on either side."""
    both = ROCAUC(window=100) + PRAUC(window=100)
    mixed = metrics.Accuracy() + ROCAUC(window=100)
    assert isinstance(both, metrics.base.Metrics)
    assert not both.requires_labels
    assert not mixed.requires_labels
    for metric in (both, mixed):
        assert metric.works_with(model())
        evaluate.progressive_val_score(islice(datasets.Phishing(), N), model(), metric)
    rows = predictions()[-100:]
    assert both.get() == [offline(ROCAUC, rows), offline(PRAUC, rows)]
    assert mixed.get()[1] == offline(ROCAUC, rows)
    assert mixed.get()[0] > 0.5
    cloned = both.clone()
    assert [metric.window for metric in cloned] == [100, 100]
    assert all(math.isnan(value) for value in cloned.get())


def test_what_river_asks_a_metric():
    """Which models it works with, which values are better, what it is given, how it is shown."""
    metric = ROCAUC(window=4)
    assert isinstance(metric, metrics.base.BinaryMetric)
    assert metric.bigger_is_better
    assert not metric.requires_labels
    assert not metric.works_with_weights
    assert metric.works_with(model())
    assert metric.works_with(linear_model.LogisticRegression())
    assert metric.works_with(anomaly.HalfSpaceTrees())
    assert metric.works_with(anomaly.QuantileFilter(anomaly.HalfSpaceTrees(), q=0.9))
    assert not metric.works_with(linear_model.LinearRegression())
    for y_true, y_pred in [(True, 0.4), (False, 0.4), (True, 0.6)]:
        metric.update(y_true, y_pred)
    assert repr(metric) == str(metric) == "ROCAUC: 75.00%"
    worse = ROCAUC(window=4)
    worse.update(y_true=True, y_pred=0.1)
    worse.update(y_true=False, y_pred=0.9)
    assert metric.is_better_than(worse)
    assert metric > worse
    with pytest.raises(ValueError, match="metrics are not compatible"):
        metric + metrics.MAE()


def test_a_prediction_is_a_score_or_probabilities():
    """A dict by class, whatever the classes are called; a class not known yet scores 0."""
    metric = ROCAUC(window=10, pos_val="spam")
    metric.update("spam", {"spam": 0.75, "ham": 0.25})
    metric.update("ham", {"ham": 1.0})
    metric.update("ham", 0.875)
    found = metric._events._events()
    assert found.labels.tolist() == [True, False, False]
    assert found.scores.tolist() == [0.75, 0.0, 0.875]
    assert metric.get() == 0.5


def test_an_anomaly_detector():
    """Its scores are ranked as they are."""
    metric = evaluate.progressive_val_score(
        anomalies(),
        anomaly.HalfSpaceTrees(seed=1, n_trees=5, height=4, window_size=50),
        ROCAUC(window=1_000),
    )
    assert metric._events.n_samples == 200
    assert metric.get() > 0.8


def anomalies():
    """Yield one feature, and now and then a value that is out of the ordinary."""
    rng = np.random.default_rng(0)
    for seen in range(200):
        is_odd = seen % 20 == 19
        yield {"a": float(rng.uniform(0.8, 1) if is_odd else rng.uniform(0, 0.3))}, is_odd


@pytest.mark.parametrize("metric", OFFLINE)
def test_revert_undoes_an_update(metric):
    """An update and its revert leave what was before; also behind River's `Rolling`."""
    rows = predictions(120)
    found = metric(window=1_000)
    for y_true, y_pred in rows:
        found.update(y_true, y_pred)
    before = found.get()
    found.update(True, {True: 0.125, False: 0.875})
    assert found.get() != before
    found.revert(True, {True: 0.125, False: 0.875})
    assert found.get() == before == offline(metric, rows)
    rolling = utils.Rolling(metric, window_size=30, window=1_000)
    for y_true, y_pred in rows:
        rolling.update(y_true, y_pred)
    assert rolling.get() == offline(metric, rows[-30:])


def test_what_was_never_there_is_not_reverted():
    """The other class, a score next to it: an error that says so."""
    metric = ROCAUC(window=2)
    for y_pred in (0.5, 0.75):
        metric.update(True, y_pred)
    with pytest.raises(ValueError, match=r"event in the window, got True and 0\.25"):
        metric.revert(True, 0.25)
    assert metric._events.n_samples == 2


@pytest.mark.parametrize("scores", [[0.5], [0.25, 0.5, 0.75]])
@pytest.mark.parametrize("metric", OFFLINE)
def test_nothing_is_reverted_once_something_has_left(metric, scores):
    """A window shorter than River's `Rolling` would take back an equal, newer event instead."""
    rolling = utils.Rolling(metric, window_size=31, window=30)
    rows = [(number % 3 == 0, scores[number % len(scores)]) for number in range(31)]
    for y_true, y_pred in rows:
        rolling.update(y_true, y_pred)
    before = rolling.get()
    with pytest.raises(ValueError, match="at least as long as what reverts events, got 30"):
        rolling.update(True, 0.5)
    assert rolling.get() == before == offline(metric, rows[-30:])
    as_long = utils.Rolling(metric, window_size=30, window=30)
    for y_true, y_pred in rows:
        as_long.update(y_true, y_pred)
    assert as_long.get() == before


@pytest.mark.parametrize("method", ["update", "revert"])
def test_weights_are_refused(method):
    """An event is in the window or not; River passes 1."""
    metric = PRAUC(window=5)
    metric.update(True, 0.5, 1.0)
    with pytest.raises(ValueError, match=r"w must be 1, .* got 2\.0"):
        getattr(metric, method)(True, 0.5, w=2.0)
    assert metric._events.n_samples == 1


def test_undefined_is_nan():
    """Never 0 or 0.5, as River's own metrics have it."""
    for metric in (ROCAUC(window=3), PRAUC(window=3)):
        assert math.isnan(metric.get())
        assert repr(metric) == f"{type(metric).__name__}: nan%"
        metric.update(False, 0.5)
        assert math.isnan(metric.get())
        metric.update(True, 0.75)
        assert metric.get() == 1.0


def test_clones_and_copies():
    """A clone is empty, one with attributes holds the events, and neither shares them."""
    metric = ROCAUC(window=7, pos_val="yes")
    metric.update("yes", 0.5)
    fresh = metric.clone()
    assert (fresh.window, fresh.pos_val, fresh._events.n_samples) == (7, "yes", 0)
    assert metric.clone({"window": 9})._events.size == 9
    for other in (metric.clone(include_attributes=True), copy.deepcopy(metric)):
        other.update("no", 0.25)
        assert (other.get(), metric._events.n_samples) == (1.0, 1)


def test_the_window_is_checked():
    """The size has the rules of `SlidingWindow`."""
    with pytest.raises(ValueError, match=r"size must be in \[1, .*\], got 0"):
        ROCAUC(window=0)
    assert ROCAUC().window == 1_000


def test_a_selector_compares_models_by_it():
    """Successive halving clones the metric for each model and keeps the one that ranks better."""
    good, useless = linear_model.LogisticRegression(), dummy.NoChangeClassifier()
    chooser = model_selection.SuccessiveHalvingClassifier(
        [useless, good], metric=ROCAUC(window=200), budget=300, eta=2
    )
    evaluate.progressive_val_score(islice(datasets.Phishing(), N), chooser, metrics.Accuracy())
    assert chooser.best_model is good


def test_without_river_the_extra_is_named():
    """The module says what to install, and nothing else of the package needs it."""
    code = (
        "import sys; sys.modules['river'] = None; import streamauc.sliding\n"
        "try: import streamauc.river\n"
        "except ImportError as error: print(error.name, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("river metrics for River need the extra 'river': pip install")
    assert "got no module 'river'" in done.stdout


def test_the_package_loads_river_only_when_asked():
    """Importing the sliding window does not."""
    code = "import sys, streamauc.sliding; print('river' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
