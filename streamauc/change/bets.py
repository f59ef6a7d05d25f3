r"""Bets on the mean of values in [0, 1]: the evidence behind the alarms that look at scores.

A pane tells of n independent parts, each a value U in [0, 1] of the same unknown mean: the AUC
of a few of its events (`rank_blocks`), or the rank of one of them (`rank_reference`). The null is
that this mean is from `low` to `high`. A bet upwards is that it is above r, the *upper* end: a
part multiplies it by ``1 + b (W - r)`` with W = U. Downwards W = 1 - U and r is 1 less the *lower*
end. As ``b r < 1`` a factor is positive; its mean is at most 1 for every mean of the null, and so
is that of the product over independent parts: betting on bounded means, Waudby-Smith & Ramdas 2024.

What is counted is never more than that product, and follows from n, the mean e of W and the mean
s of its square. Let ``f(w) = log(1 + b (w - r))``, and q the parabola that meets f at 0 and touches
it at ``v = s / e``. As f''' > 0, ``f(w) - q(w) = f'''(.) w (w - v)**2 / 6`` is not negative, so
the mean of f is at least that of q. This in turn is the mean of f for a variable that is v with
probability ``p = e**2 / s`` and 0 otherwise, since that one has the same e and s:

``log L = n (p f(s / e) + (1 - p) f(0))``.

It falls with s, so s may be taken too large. ``E[L | past] <= 1`` for the whole null, wherever in
it the mean wanders, and the e-detector ``M = (w + M) L`` of `evidence` keeps its promise.

How much is staked. Per side there is a grid of odds ratios of the mean, as there is one for the
prevalence. For the one that moves the mean of W to r + D, with a variance of V, log L is largest
at ``b = D (D + r) / (r (V + D (D + r)))`` (Kelly 1956). V has to be known before the scores of the
pane are looked at, and decides nothing but the power: it is that of exponential scores (Hanley &
McNeil 1982), the mean of what these give for either class.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

# An end of the null closer to 0 or 1 than this leaves no mean beyond it.
_NOTHING_BEYOND = 1e-12
# The most that a part can take away is taken as at least this: a bet must have something to lose.
_LEAST_LOSS = 1e-6
# Nats that a change must be able to give in the time promised to count in full, see `evidence`.
_FULL_INFORMATION = 10.0
# Its exponential is just a float; to take evidence for less keeps the promise.
_LARGEST_GAIN = 700.0


@dataclass(frozen=True, slots=True)
class NullMean:
    """The means at which nothing is to be reported; `value` is the reference's own.

    Nothing is known of an empty reference: [0, 1] and ``nan``.
    """

    low: float
    high: float
    value: float

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.low:.4g}"
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g})"


@dataclass(frozen=True, slots=True)
class Parts:
    """What a pane tells of a mean: `n` independent parts with values in [0, 1].

    * `mean`, `square`: the mean of the values, and of their squares or more than that.
    * `own`, `shared`: what the variance of a part is expected to be made of, which must follow
      from the number of events alone: `own` times that of a single pair of scores and
      `shared` times that of the rank of a score among infinitely many.
    """

    n: float
    mean: float
    square: float
    own: float
    shared: float


class Bets:
    """What a pane is worth to each bet, those upwards first.

    A side that has no null end to bet against, because no mean is above 1 or below 0, takes no
    part: there every pane is worth nothing and no change begins. `is_blind` says that neither
    does.
    """

    __slots__ = ("_enough", "_shape", "_stakes", "_targets", "is_blind", "n_ratios")

    def __init__(self, null: NullMean, ratios: Sequence[float], run_length: float) -> None:
        self.n_ratios = len(ratios)
        self._targets = [_target(null.high, ratio) for ratio in ratios]
        # Downwards is upwards for 1 - U, at the same odds ratio.
        self._targets += [_target(1 - null.low, ratio) for ratio in ratios]
        self.is_blind = not any(target.move for target in self._targets)
        self._enough = _FULL_INFORMATION / run_length
        self._stakes: list[_Stake] = []
        self._shape = (math.nan, math.nan)

    def stakes(self, parts: Parts) -> list["_Stake"]:
        """Return what is staked on parts of their kind, by bet."""
        # Panes of one size follow each other, and ranks among a reference are always alike.
        if (parts.own, parts.shared) != self._shape:
            self._shape = (parts.own, parts.shared)
            self._stakes = [target.stake(parts.own, parts.shared) for target in self._targets]
        return self._stakes

    def weights(self, parts: Parts) -> list[float]:
        """Return the weight of a change that begins with a pane of such parts, by bet."""
        scale = parts.n / self._enough
        return [min(1.0, stake.gain * scale) for stake in self.stakes(parts)]

    def gains(self, parts: Parts) -> list[float]:
        """Return a lower bound of the log of the factor of a pane, by bet."""
        stakes, n, mean, square = self.stakes(parts), parts.n, parts.mean, parts.square
        up, down = stakes[: self.n_ratios], stakes[self.n_ratios :]
        gains = _gains(up, mean, square) + _gains(down, 1 - mean, 1 - 2 * mean + square)
        return [min(_LARGEST_GAIN, n * gain) for gain in gains]


@dataclass(frozen=True, slots=True)
class _Stake:
    """One bet b against a mean of r: ``f(w) = log1p(bet * w + base)``, and `loss` is f(0).

    `gain` is log L for a part once the mean is where the bet expects it.
    """

    bet: float
    base: float
    loss: float
    gain: float


def _gains(stakes: Sequence[_Stake], mean: float, square: float) -> list[float]:
    """Return log L for one part, whose W has this mean and mean square."""
    if not mean > 0:
        return [stake.loss for stake in stakes]
    # W is at most 1 and so is s / e, however much too large s was taken; by rounding alone s / e
    # would be less than e.
    point = max(mean, min(1.0, square / mean))
    share, log1p = mean / point, math.log1p
    return [
        share * log1p(stake.bet * point + stake.base) + (1 - share) * stake.loss for stake in stakes
    ]


@dataclass(frozen=True, slots=True)
class _Target:
    """A mean of W that is looked for, `move` above the end r of the null; no move is no bet."""

    r: float
    move: float
    pair_variance: float
    rank_variance: float

    def stake(self, own: float, shared: float) -> _Stake:
        r, move = self.r, self.move
        if not move:
            return _Stake(0.0, 0.0, 0.0, 0.0)
        variance = own * self.pair_variance + shared * self.rank_variance
        bet = move * (move + r) / (r * (variance + move * (move + r)))
        stake = _Stake(bet, -bet * r, math.log1p(-bet * r), math.nan)
        mean = r + move
        (gain,) = _gains([stake], mean, variance + mean * mean)
        return _Stake(stake.bet, stake.base, stake.loss, gain)


def _target(r: float, ratio: float) -> _Target:
    if 1 - r < _NOTHING_BEYOND:
        return _Target(r, 0.0, 0.0, 0.0)
    r = max(r, _LEAST_LOSS)  # which widens the null
    mean = ratio * r / (1 - r + ratio * r)
    return _Target(r, mean - r, mean * (1 - mean), _rank_variance(mean))


def _rank_variance(auc: float) -> float:
    """Return the variance of a score's rank in the other class (Hanley & McNeil 1982)."""
    return (auc / (2 - auc) + 2 * auc * auc / (1 + auc)) / 2 - auc * auc
