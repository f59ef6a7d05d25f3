"""A slow, obvious model of panes in time, which the tests compare with."""

import math
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise

import numpy as np

from streamauc import Scale, ScoreHistogram

SMALL_TIERS = ((1, 20), (5, 100), (20, 400))


def cells(histogram):
    """Return {(bin, class): (count, sum of squares)} of a histogram, squares None if unweighted."""
    counts, squares = histogram.counts.tolist(), histogram.squares
    table = None if squares is None else squares.tolist()
    return {
        (bin_, label): (counts[label][column], None if table is None else table[label][column])
        for column, bin_ in enumerate(histogram.bins.tolist())
        for label in range(histogram.n_classes)
        if counts[label][column]
    }


def cells_of(rows, scale):
    """Return the same of (time, label, score, weight) rows, one event at a time."""
    weighted = any(weight != 1 for *_, weight in rows)
    counts, squares = defaultdict(int), defaultdict(float)
    for _, label, score, weight in rows:
        key = scale.bin(score), label
        counts[key] += weight
        squares[key] += weight * weight
    return {
        key: (count, squares[key] if weighted else None) for key, count in counts.items() if count
    }


def content(monitor):
    """Return everything a monitor holds: every surviving pane, and the numbers of events."""
    state = monitor.state()
    panes = {
        (channel, tier, index): cells(ScoreHistogram(state.scale, counts))
        for channel, tier, index, counts in state.panes
    }
    return {key: pane for key, pane in panes.items() if pane}, monitor.stats


class PaneModel:
    """Which panes survive at `now`, by the definition, in exact fractions."""

    def __init__(self, tiers):
        self.tiers = tiers
        self.parents = [pane for pane, _ in tiers[1:]] + [tiers[-1][0]]

    def survives(self, number, begin, now):
        """Return whether the pane of a tier that begins there survives: with its siblings."""
        parent, keep = self.parents[number], self.tiers[number][1]
        if math.isinf(keep) or now == -math.inf:
            return True
        return (begin // parent + 1) * parent > Fraction(now) - Fraction(keep)

    def begin(self, number, moment):
        """Return where the pane of a tier begins that holds a moment."""
        pane = self.tiers[number][0]
        # The floor is a whole number that is not above the moment, so nothing is rounded.
        return math.floor(moment) // pane * pane

    def is_expired(self, moment, now):
        """Return whether a moment is older than every tier."""
        last = len(self.tiers) - 1
        return not self.survives(last, self.begin(last, moment), now)

    def pane_at(self, moment, now):
        """Return (begin, end) of the finest surviving pane that holds a moment.

        Where none survives, that of the coarsest.
        """
        for number in range(len(self.tiers)):
            begin = self.begin(number, moment)
            if self.survives(number, begin, now):
                break
        return begin, begin + self.tiers[number][0]

    def panes(self, start, end, now):
        """Return the smallest union of surviving panes that covers [start, end), one by one."""
        found = []
        moment = start
        while moment < end:
            found.append(self.pane_at(moment, now))
            moment = found[-1][1]
        return found

    def span(self, start, end, now):
        """Return where that union begins and ends."""
        found = self.panes(start, end, now)
        if not found:
            begin = self.pane_at(start, now)[0]
            return begin, begin
        assert all(left[1] == right[0] for left, right in pairwise(found))
        return found[0][0], found[-1][1]

    def kept(self, rows, start, end, now):
        """Return the rows in [start, end) that are not older than every tier."""
        last, survives = len(self.tiers) - 1, {}
        found = []
        for row in rows:
            if start <= row[0] < end:
                begin = self.begin(last, row[0])
                if begin not in survives:
                    survives[begin] = self.survives(last, begin, now)
                found += [row] if survives[begin] else []
        return found


class EventClockModel:
    """Decides about one event after the other what the event clock is to decide."""

    def __init__(self, model, max_ahead=math.inf):
        self.model = model
        self.max_ahead = max_ahead
        self.latest = -math.inf
        self.waiting = None
        self.counts = dict.fromkeys(("accepted", "expired", "ahead"), 0)

    def offer(self, row):
        """Return the rows that count thereby, in order; a confirmed jump brings two."""
        moment, latest = row[0], self.latest
        if latest > -math.inf and moment > latest + self.max_ahead:
            if self.waiting is None or abs(moment - self.waiting[0]) > self.max_ahead:
                self.waiting = row
                self.counts["ahead"] += 1
                return []
            confirmed, self.waiting = self.waiting, None
            self.counts["ahead"] -= 1
            return self._accept(confirmed) + self._accept(row)
        return self._accept(row)

    def offer_histogram(self, moment, n_events):
        """Return whether all events at that moment count, by their number."""
        if self.latest > -math.inf and moment > self.latest + self.max_ahead:
            self.counts["ahead"] += n_events
            return False
        if self.model.is_expired(moment, self.latest):
            self.counts["expired"] += n_events
            return False
        self.latest = max(self.latest, moment)
        self.counts["accepted"] += n_events
        return True

    def _accept(self, row):
        if self.model.is_expired(row[0], self.latest):
            self.counts["expired"] += 1
            return []
        self.latest = max(self.latest, row[0])
        self.counts["accepted"] += 1
        return [row]


def check_timeline(timeline):
    """Check every invariant of the panes and that each node is the sum of what is beneath it."""
    tiers, first = timeline.tiers, timeline.first
    for fine, coarse, one, other in zip(tiers, tiers[1:], first, first[1:], strict=False):
        assert one * fine.pane_seconds >= other * coarse.pane_seconds
    for levels in timeline._channels.values():
        _check_panes(tiers, first, levels)
        for number, level in enumerate(levels):
            for (height, index), node in level.nodes.items():
                assert height <= level.height
                assert height or index not in level.panes
                _check_node(timeline, levels, number, (height, index), node)


def _check_panes(tiers, first, levels):
    for number, level in enumerate(levels):
        for index in level.panes:
            assert index >= first[number]
            if number:  # the finer ones have expired, or this one would hold nothing of its own
                seconds = tiers[number].pane_seconds
                assert (index + 1) * seconds <= first[number - 1] * tiers[number - 1].pane_seconds


def _check_node(timeline, levels, number, key, node):
    height, index = key
    size = timeline.tiers[number].pane_seconds << (2 * height)
    start, end = index * size, (index + 1) * size
    beneath = [
        levels[tier].panes[pane].histogram()
        for tier in range(number + 1)
        for pane in levels[tier].panes.irange(
            -(-start // timeline.tiers[tier].pane_seconds),
            -(-end // timeline.tiers[tier].pane_seconds) - 1,
        )
    ]
    if node is None:
        assert not beneath
        return
    assert cells(node) == cells(ScoreHistogram.merge(beneath))


def random_rows(rng, size, low, high, *, weighted=False):
    """Return (time, label, score, weight) rows on lattices, so that ties are common."""
    times = np.round(rng.uniform(low, high, size) * 4) / 4
    weights = rng.integers(0, 8, size) / 4 if weighted else np.ones(size, dtype=int)
    columns = times, rng.integers(0, 2, size), rng.integers(0, 9, size) / 8, weights
    return list(zip(*(column.tolist() for column in columns), strict=True))


def scores_for(scale, share):
    """Return a share of 0 to 1 as a score of the scale."""
    return share if scale.kind == Scale.probability().kind else 8 * share - 4
