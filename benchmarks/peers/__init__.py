"""What else there is to follow an AUC with, each behind the same small adapter.

None is needed to run the suites: `sort_out` tells which are there, and why others are not.
"""

from collections.abc import Iterable
from importlib.util import find_spec

from benchmarks.peers import datasketches, keras, river, scikit_learn, torcheval, torchmetrics
from benchmarks.peers.peer import Kind, Missing, Peer

KINDS: tuple[Kind, ...] = (
    *river.KINDS,
    *datasketches.KINDS,
    *keras.KINDS,
    *torchmetrics.KINDS,
    *torcheval.KINDS,
    *scikit_learn.KINDS,
)
# Their state does not grow with the stream.
BOUNDED = tuple(kind for kind in KINDS if kind.is_bounded)
# Of these, the ones whose answer is about the whole stream.
WHOLE = tuple(kind for kind in BOUNDED if not kind.is_window)
EXACT = tuple(kind for kind in KINDS if kind.is_exact)

__all__ = ["BOUNDED", "EXACT", "KINDS", "WHOLE", "Kind", "Missing", "Peer", "sort_out"]


def sort_out(kinds: Iterable[Kind]) -> tuple[list[Kind], list[Missing]]:
    """Return which of the kinds can be made here, and which cannot, with the reason."""
    found: list[Kind] = []
    missing: list[Missing] = []
    for kind in kinds:
        reason = _obstacle(kind)
        if reason:
            missing.append(Missing(kind.name, reason))
        else:
            found.append(kind)
    return found, missing


def _obstacle(kind: Kind) -> str:
    """Return why a peer cannot be made; nothing if it can."""
    if find_spec(kind.module) is None:
        return f"{kind.package} is not installed"
    try:
        kind.make()
    except ImportError as error:
        return f"{kind.package} cannot be imported: {error}"
    return ""
