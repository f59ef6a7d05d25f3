"""A sliding window through any sequence of steps, against the events themselves."""

import copy
import math
import os
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from reference import LARGEST, pairwise_auc

from streamauc import Scale, ScoreHistogram, threshold_counts
from streamauc.sliding import (
    SlidingWindow,
    adapting,
    block_list,
    sharing,
    sorted_arrays,
    sorted_blocks,
    sorted_lists,
)

LONG = os.environ.get("STREAMAUC_LONG") == "1"
SETTINGS = settings(
    max_examples=1_000 if LONG else 40,
    stateful_step_count=80 if LONG else 40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
# What is decided by numbers of thousands, decided by a few.
LIMITS = {
    "as it is": {},
    "lists": {
        (sorted_lists, "PUT_AT_ONCE"): 3,
        (sorted_lists, "_LONG"): 6,
        (adapting, "few"): lambda _: 2,
        (adapting, "MANY"): 4,
        (adapting, "MANY_SHARE"): 4,
        (adapting, "PATIENCE_SHARE"): 5,
    },
    "blocks": {
        (adapting, "LARGEST_LISTS"): 2,
        (sorted_blocks, "PUT_AT_ONCE"): 5,
        (block_list, "_SHORTEST"): 1,
        (sharing, "_EQUAL"): 2,
        (adapting, "few"): lambda _: 4,
        (adapting, "PATIENCE_SHARE"): 3,
    },
    "arrays": {
        (sorted_arrays, "_SORTED_ANEW"): 0,
        (sorted_arrays, "_MERGED_SHARE"): 1,
        (adapting, "few"): lambda _: 0,
    },
}
# A lattice of few scores, so that ties are common; both zeros, neighbours and the ends among them.
SCORES = [-LARGEST, -0.5, -0.0, 0.0, 5e-324, 0.25, 0.5, math.nextafter(0.5, 1), LARGEST]
one_event = st.tuples(st.integers(0, 1), st.sampled_from(SCORES))


class Machine(RuleBasedStateMachine):
    """A window and the list of the events that it has to hold."""

    @initialize(size=st.integers(1, 12))
    def start(self, size):
        self.size = size
        self.window = SlidingWindow(size)
        self.rows = []

    def expect(self, rows):
        self.rows = rows[-self.size :]

    @rule(rows=st.lists(one_event, min_size=1, max_size=15), is_read=st.booleans())
    def update(self, rows, is_read):
        """Write single events, and read after each or not at all."""
        for label, score in rows:
            self.window.update(label, score)
            self.expect([*self.rows, (label, score)])
            if is_read:
                self.read()

    @rule(rows=st.lists(one_event, max_size=40))
    def update_many(self, rows):
        """Write a batch."""
        self.window.update_many([label for label, _ in rows], [score for _, score in rows])
        self.expect([*self.rows, *rows])

    @rule()
    def read(self):
        """Read the AUC: to the last bit that of all pairs, rounded once."""
        found = pairwise_auc(self.rows)
        np.testing.assert_equal(self.window.roc_auc, math.nan if found is None else float(found))

    @rule()
    def read_counts(self):
        """Read everything else."""
        y_true, y_score = [label for label, _ in self.rows], [score for _, score in self.rows]
        found = self.window.counts()
        wanted = threshold_counts(ScoreHistogram.from_scores(y_true, y_score, scale=Scale.exact()))
        assert found.thresholds.tolist() == wanted.thresholds.tolist()
        assert found.tps.tolist() == wanted.tps.tolist()
        assert found.fps.tolist() == wanted.fps.tolist()
        assert self.window.n_pos == sum(y_true)
        assert self.window.n_neg == len(y_true) - sum(y_true)

    @precondition(lambda self: self.rows)
    @rule(data=st.data(), is_revised=st.booleans())
    def retract(self, data, is_revised):
        """Take back an event that is there, or turn its label."""
        label, score = data.draw(st.sampled_from(self.rows))
        self.window.retract(label, score)
        last = max(place for place, row in enumerate(self.rows) if row == (label, score))
        self.rows = self.rows[:last] + self.rows[last + 1 :]
        if is_revised:
            self.window.update(1 - label, score)
            self.expect([*self.rows, (1 - label, score)])

    @rule(row=one_event)
    def retract_what_is_not_there(self, row):
        """Be told so, and change nothing."""
        if row not in self.rows:
            with pytest.raises(ValueError, match="event in the window"):
                self.window.retract(*row)

    @rule(row=st.sampled_from([(2, 0.5), (1, math.nan), (0, math.inf), (0, "0.5")]))
    def refuse(self, row):
        """Offer what is no event, alone and behind good ones."""
        label, score = row
        with pytest.raises((ValueError, TypeError)):
            self.window.update(label, score)
        with pytest.raises((ValueError, TypeError)):
            self.window.update_many([0] * 20 + [label], [0.25] * 20 + [score])

    @rule(size=st.integers(1, 12))
    def resize(self, size):
        """Hold fewer or more from now on."""
        self.size = size
        self.window.resize(size)
        self.expect(self.rows)

    @rule(way=st.sampled_from(["copy", "deepcopy", "pickle"]))
    def continue_with_a_copy(self, way):
        """Go on with a copy, after the one before was spoilt."""
        before = self.window
        self.window = {
            "copy": copy.copy,
            "deepcopy": copy.deepcopy,
            "pickle": lambda window: pickle.loads(pickle.dumps(window)),  # noqa: S301
        }[way](before)
        before.update_many([1] * 20, [0.75] * 20)
        before.update(0, 0.125)
        assert before.roc_auc >= 0 or self.size == 1

    @invariant()
    def all_that_is_kept_follows_from_the_events(self):
        """`_check` recomputes; the events are the last ones; a copy that is read answers right."""
        self.window._check()
        found = self.window._events()
        assert list(zip(found.labels.tolist(), found.scores.tolist(), strict=True)) == self.rows
        assert self.window.n_samples == len(self.rows)
        assert len(self.window._scores) <= self.size
        auc = pairwise_auc(self.rows)
        np.testing.assert_equal(
            copy.copy(self.window).roc_auc, math.nan if auc is None else float(auc)
        )


@pytest.mark.parametrize("limits", LIMITS)
def test_any_sequence_of_steps(limits, monkeypatch):
    """Whatever comes, in whatever order, read or not: the last events and their AUC, exactly."""
    for (module, name), value in LIMITS[limits].items():
        monkeypatch.setattr(module, name, value)
    run_state_machine_as_test(Machine, settings=SETTINGS)
