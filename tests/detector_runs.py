"""Many detectors at once, in log space and in numpy: what the class must agree with."""

import numpy as np

from streamauc.change.settings import RATIOS


def excess(x, p, size):
    """Return the bound on what a beta adds, the lower of its two forms; arrays broadcast."""
    with np.errstate(invalid="ignore", divide="ignore"):
        by_pos = np.where(x < 1, -x - np.log1p(-x), np.inf)
        by_neg = np.where(x > -1, x - np.log1p(x), np.inf)
    return size * np.minimum(p * by_pos, (1 - p) * by_neg)


def tilts(low, high, ratios=RATIOS, scaled=0.0):
    """Return slopes, shape (2 * n_ratios,), and p0 beside them, upwards first; also by run."""
    both = np.concatenate([np.asarray(ratios), 1 / np.asarray(ratios)])
    slopes = 1 / (1 / np.log(both) + scaled / (1 - 1 / both))
    ends = np.where(slopes > 0, np.asarray(high)[..., None], np.asarray(low)[..., None])
    return slopes, ends


def log_ratios(slopes, p0, n_pos, n, size=np.inf):
    """Return log L of a pane, shape (n_runs, 2 * n_ratios); `n_pos` has shape (n_runs, 1)."""
    rise = np.expm1(slopes)
    gains = slopes * n_pos - n * np.log1p(p0 * rise)
    if np.isfinite(size):
        gains = gains - excess(n / size * rise / (1 + p0 * rise), p0, size)
    return gains


def information(slopes, p0, factor=1.0):
    """Return the mean log L of an event at the ratio itself."""
    cost = np.log1p(p0 * np.expm1(slopes))
    return factor * (slopes * p0 * np.exp(slopes - cost) - cost)


def first_alarms(n_pos, n, ends, run_length, *, size=np.inf, typical=1.0):
    """Return the number of panes until the alarm of each run; n_panes + 1 where there is none.

    `n_pos` has shape (n_runs, n_panes), `n` (n_panes,), `ends` yields (low, high) by pane:
    numbers or one for each run.
    """
    n_runs, n_panes = n_pos.shape
    scaled = typical / size
    factor = 1 + (typical - 1) / (size + 1)
    logs = np.full((n_runs, 2 * len(RATIOS)), -np.inf)
    found = np.full(n_runs, n_panes + 1)
    for pane, (low, high) in zip(range(n_panes), ends, strict=False):
        slopes, p0 = tilts(low, high, scaled=scaled)
        full = information(slopes, p0, factor) * n[pane] * run_length / 10
        gains = log_ratios(slopes, p0, n_pos[:, pane : pane + 1], n[pane], size)
        logs = np.logaddexp(np.log(np.minimum(1, full)), logs) + gains
        sides = np.logaddexp.reduce(logs.reshape(n_runs, 2, -1), axis=2) - np.log(len(RATIOS))
        alarmed = (sides >= np.log(2 * run_length)).any(axis=1)
        found[alarmed & (found > n_panes)] = pane + 1
        if (found <= n_panes).all():
            break
    return found
