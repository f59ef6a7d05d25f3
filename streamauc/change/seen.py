"""Which panes a detector was shown, and whether it still gets any that it can use."""

from dataclasses import dataclass

from streamauc.change.settings import Settings
from streamauc.change.verdict import begin


@dataclass(slots=True)
class Seen:
    """Which panes a detector was shown.

    * `first`, `newest`: the first one and the newest; `closed`: the newest taken in;
      `folded`: the newest that held events; None before there is one.
    * `ignored_from`, `ignored_to`: the span of closed panes shown again since the last step.
    """

    first: int | None = None
    newest: int | None = None
    closed: int | None = None
    folded: int | None = None
    ignored_from: int | None = None
    ignored_to: int | None = None
    n_ignored: int = 0
    n_immature: int = 0
    n_empty: int = 0

    def admits(self, pane: int, mature: bool) -> bool:  # noqa: FBT001 - on the path of a step
        """Note that a pane is shown and return whether it is to be taken in."""
        if self.closed is not None and pane <= self.closed:
            self._ignore(pane)
            return False
        if self.first is None or self.newest is None:
            self.first = self.newest = pane
        if pane > self.newest:
            self.newest = pane
        if not mature:
            self.n_immature += 1
            return False
        self.closed = pane
        self.ignored_from = self.ignored_to = None
        return True

    def _ignore(self, pane: int) -> None:
        self.n_ignored += 1
        if self.ignored_from is None or self.ignored_to is None:
            self.ignored_from = self.ignored_to = pane
        self.ignored_to = max(self.ignored_to, pane)

    def stall(self, settings: Settings) -> str | None:
        """Return why nothing was folded for `stall_panes`, or None if something was."""
        limit, seconds = settings.stall_panes, settings.pane_seconds
        if self.ignored_from is not None and self.ignored_to is not None:
            span = self.ignored_to - self.ignored_from
            if span >= limit:
                return (
                    f"panes of {begin(self.ignored_from, seconds)} to"
                    f" {begin(self.ignored_to, seconds)} came after later ones and were ignored:"
                    " has a clock jumped? reset() starts anew"
                )
        if self.first is None or self.newest is None:
            return None
        since = self.first - 1 if self.folded is None else self.folded
        if self.newest - since < limit:
            return None
        between = f"from {begin(since + 1, seconds)} to {begin(self.newest + 1, seconds)}"
        if self.closed is None or self.closed < self.newest:
            return (
                f"no pane {between} was there with a coverage of at least"
                f" {settings.min_coverage:.4g}"
            )
        return f"no labelled events {between}"
