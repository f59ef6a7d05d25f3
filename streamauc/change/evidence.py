r"""Evidence against "the prevalence is in the null": the e-detector behind the alarm.

Per side of the null there is a grid of odds ratios r. A pane with k positives of n events is
worth ``L = r**k / (1 + p0 (r - 1))**n``, the likelihood ratio of the prevalence whose odds are
r times those of p0 (for rare positives: r times the prevalence) against p0, and

``M = (w + M) L``,

the sum over every pane at which a change may have begun of the likelihood ratios since (the
Shiryaev-Roberts statistic), where the weight w is at most 1. The alarm comes when the mean of M
over the grid reaches the threshold.

Why it keeps its promise (Shin, Ramdas & Rinaldo 2024). Let each event of a pane be positive with
a probability p, given everything before it. Then ``E[r**k] <= (1 + p (r - 1))**n``, one factor an
event.

* Upwards r > 1 and p0 is the *upper* end of the null: every p of the null is at most p0, so
  ``1 + p (r - 1) <= 1 + p0 (r - 1)``.
* Downwards r < 1 and p0 is the *lower* end: every p of the null is at least p0, and as r - 1 is
  negative the same inequality holds.

So ``E[L | past] <= 1`` for the whole null, wherever in it p wanders, and
``E[M | past] <= w + M_before``: M less the number of panes is a supermartingale. At a stopping
time T with ``M >= c`` therefore ``c <= E[M_T] <= E[T]``. The mean of M over the grid inherits
this. Two sides that each wait for 2c: half the sum of both has reached c by then. Looking more
or less often changes nothing, as a pane counts once. Panes without events change nothing, either.

Weights: a ratio that could not be told from 1 in the whole time promised would have ``L = 1`` and
an M that merely counts panes. It starts with ``w = min(1, information / 10)``, the information
being the expected log likelihood ratio over that time, in nats; w must not depend on k.

Counts that vary more than binomial ones. Let k be binomial given P, and P a beta of mean p and a
size at least s (see `Dispersion`). The logarithm is below its tangent at p0:
``(1 + P (r - 1))**n <= (1 + p0 (r - 1))**n exp(u (P - p0))`` with
``u = n (r - 1) / (1 + p0 (r - 1))``, and `dispersion.excess` bounds the mean of the last factor,
again for every p on the null's side of p0, for every larger s, and for every distribution of P
that is less spread in the convex order. Its logarithm is taken off, and ``E[L] <= 1`` remains for
any r. To keep the power, log r is replaced by ``1 / (1 / log r + n / (s (1 - 1 / r)))``, between
the best slopes for a binomial and for a gamma, where n is the typical size of a pane.

L is worked out as a logarithm. M may be kept as it is: as ``w + M`` is at least w, an M that is
rounded to 0 loses nothing, and one at the ceiling is far above every threshold.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from streamauc.change.dispersion import excess, lower_bound_of
from streamauc.change.reference import Baseline, Null

# Evidence stops growing here; a sum of a thousand is still finite.
CEILING = 1e300
_FULL_INFORMATION = 10.0
# Its exponential is just a float; to take evidence for less keeps the promise.
_LARGEST_GAIN = 700.0
# The logarithm of 1 + y has its pole at -1; both bounds are compared from here on.
_NEAR_POLE = -0.9
_EDGE = 1e-12
# A mark is a pane with the positives and the events counted before it.
Mark = tuple[int, float, float]


class Tilt:
    """What a pane of one phase is worth to each ratio, those upwards first.

    A side that has no null end to compare with, because no prevalence is above 1 or below 0,
    takes no part: there every pane is worth nothing and no change begins. `is_blind` says that
    neither does.
    """

    __slots__ = (
        *("_bent", "_dispersion", "_enough", "_lowest", "_rates", "_rows", "_steep", "_terms"),
        *("_weights", "is_blind"),
    )

    def __init__(
        self, null: Null, ratios: Sequence[float], baseline: Baseline, run_length: float
    ) -> None:
        spread, typical = baseline.dispersion, baseline.typical
        factor = spread.factor_of(typical)
        scaled = typical / spread.beta_size(typical)
        self._rows = [_row(null.high, ratio, scaled) for ratio in ratios]
        self._rows += [_row(null.low, 1 / ratio, scaled) for ratio in ratios]
        self._terms = [(row.slope, row.cost) for row in self._rows]
        self._bent = [(row.slope, row.cost, row.bend, row.share) for row in self._rows]
        self._lowest = min(row.bend for row in self._rows)
        self._steep = _LARGEST_GAIN / max(
            _EDGE, *(abs(part) for term in self._terms for part in term)
        )
        self._dispersion = None if spread.is_binomial else spread
        # For a pane of n events, n times the rate is the information in the time promised.
        self._rates = [row.gain * factor * run_length / _FULL_INFORMATION for row in self._rows]
        self._weights = [1.0 if rate > 0 else 0.0 for rate in self._rates]
        self.is_blind = not any(self._weights)
        self._enough = max((1 / rate for rate in self._rates if rate > 0), default=0.0)

    def weights(self, n: float) -> Sequence[float]:
        """Return the weight of a change that begins with a pane of `n` events, by ratio."""
        if n >= self._enough:
            return self._weights
        return [min(1.0, n * rate) for rate in self._rates]

    def gains(self, n_pos: float, n: float) -> Sequence[float]:
        """Return the log likelihood ratio of a pane with `n_pos` of `n` events, by ratio."""
        size = math.inf if self._dispersion is None else self._dispersion.beta_size(n)
        if size == math.inf:
            gains = [slope * n_pos - cost * n for slope, cost in self._terms]
        else:
            gains = self._dispersed(n_pos, n, size)
        if n > self._steep:
            return [min(gain, _LARGEST_GAIN) for gain in gains]
        return gains

    def _dispersed(self, n_pos: float, n: float, size: float) -> list[float]:
        scaled, log1p = n / size, math.log1p
        if scaled * self._lowest > _NEAR_POLE:
            return [
                slope * n_pos - cost * n - size * share * ((y := scaled * bend) - log1p(y))
                for slope, cost, bend, share in self._bent
            ]
        return [
            row.slope * n_pos - row.cost * n - excess(scaled * row.spread, row.p0, size)
            for row in self._rows
        ]


@dataclass(frozen=True, slots=True)
class _Row:
    """One ratio: ``log L = slope * n_pos - cost * n - size * share * g(bend * n / size)``.

    The last term is `dispersion.excess` for ``u = n * spread``, by its lower bound; `bend` is
    `spread` or its negative. `gain` is the mean of the others per event at the ratio.
    """

    p0: float
    slope: float
    cost: float
    spread: float
    bend: float
    share: float
    gain: float


_OFF = _Row(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def _row(p0: float, ratio: float, scaled: float) -> _Row:
    if (ratio > 1 and p0 >= 1) or (ratio < 1 and p0 <= 0):
        return _OFF
    # A prevalence known to be 0 or 1 is taken as next to it, so that a few events suffice as
    # evidence but one need not be infinite.
    p0 = min(max(p0, _EDGE), 1 - _EDGE)
    slope = 1 / (1 / math.log(ratio) + scaled / (1 - 1 / ratio))
    rise = math.expm1(slope)
    cost = math.log1p(p0 * rise)
    spread = rise * math.exp(-cost)
    sign, share = lower_bound_of(spread * scaled, p0)
    gain = slope * p0 * math.exp(slope - cost) - cost
    return _Row(p0, slope, cost, spread, sign * spread, share, max(gain, _EDGE**2))


class Mixture:
    """The evidence, a value for each ratio of the grid, those upwards first.

    * `values`: M, at most `CEILING`; `up` and `down` are the sums over the two sides.
    * `paths`: the log likelihood ratio since the likeliest beginning, which is Page's CUSUM; at
      or below 0 the next pane begins anew.
    * `starts`: the mark of that beginning.
    """

    __slots__ = ("_n_ratios", "down", "paths", "starts", "up", "values")

    def __init__(
        self, values: Sequence[float], paths: Sequence[float], starts: Sequence[Mark]
    ) -> None:
        self._n_ratios = len(values) // 2
        self.values, self.paths, self.starts = list(values), list(paths), list(starts)
        self._sum_up()

    @classmethod
    def fresh(cls, n_ratios: int) -> "Mixture":
        """Return a mixture without evidence."""
        n = 2 * n_ratios
        return cls([0.0] * n, [0.0] * n, [(0, 0.0, 0.0)] * n)

    def fold(self, gains: Sequence[float], weights: Sequence[float], mark: Mark) -> None:
        """Take in one pane, `mark`. O(n_ratios)."""
        values, paths, starts, exp = self.values, self.paths, self.starts, math.exp
        # One loop, because a pass for each of the three lists takes twice as long.
        for j, gain in enumerate(gains):
            if paths[j] > 0:
                paths[j] += gain
            else:
                starts[j], paths[j] = mark, gain
            values[j] = (values[j] + weights[j]) * exp(gain)
        self._sum_up()
        if not self.up + self.down <= CEILING:
            self.values = [min(value, CEILING) for value in values]
            self._sum_up()

    def _sum_up(self) -> None:
        self.up, self.down = sum(self.values[: self._n_ratios]), sum(self.values[self._n_ratios :])

    def start(self, *, upwards: bool) -> Mark:
        """Return where the likeliest change began: the start of a side's strongest path."""
        first = 0 if upwards else self._n_ratios
        side = range(first, first + self._n_ratios)
        return self.starts[max(side, key=self.paths.__getitem__)]
