"""What can be compared, and whether its two sides are independent."""

from typing import Protocol, runtime_checkable

from streamauc import _check
from streamauc.histogram import ScoreHistogram


class HasHistogram(Protocol):
    """Anything that keeps its scores as a histogram, such as a window."""

    @property
    def histogram(self) -> ScoreHistogram:
        """The scores by bin and class."""


Source = ScoreHistogram | HasHistogram


@runtime_checkable
class _Spanned(Protocol):
    """A span of one stream, such as a window."""

    @property
    def start(self) -> float:
        """Where it begins, seconds."""

    @property
    def end(self) -> float:
        """Where it ends, seconds, not included."""

    @property
    def origin(self) -> object:
        """Equal for spans of the same stream only."""


def histogram_of(name: str, source: Source) -> ScoreHistogram:
    """Return the histogram of a source, or raise TypeError or ValueError; two classes only."""
    found = source if isinstance(source, ScoreHistogram) else getattr(source, "histogram", None)
    if not isinstance(found, ScoreHistogram):
        got = _check.plain(source)
        raise TypeError(f"{name} must be a ScoreHistogram or have one as .histogram, got {got!r}")
    if found.n_classes != 2:
        raise ValueError(f"{name} must have 2 classes, got {found.n_classes}")
    return found


def check_independent(reference: Source, current: Source, *, independent: bool) -> None:
    """Raise ValueError unless the two sides are known, or said, to share no events."""
    if isinstance(reference, _Spanned) and isinstance(current, _Spanned):
        _check_apart(reference, current)
    elif not independent:
        raise ValueError(
            "independent must be True to compare histograms, of which it can't be known whether"
            " they share events, got False; pass windows, or independent=True if no event is in"
            " both and the two are not scores of the same events by two models"
        )


def _check_apart(reference: _Spanned, current: _Spanned) -> None:
    if reference.origin != current.origin:
        return
    if reference.start < current.end and current.start < reference.end:
        raise ValueError(
            "reference and current must not overlap when they are windows of one monitor, got"
            f" [{reference.start!r}, {reference.end!r}) and [{current.start!r}, {current.end!r})"
        )
