"""What the adapters of the torch family share."""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Protocol

from benchmarks.data import FloatArray, IntArray


class Tensor(Protocol):
    """As much of ``torch.Tensor`` as is used here."""

    nbytes: int

    def item(self) -> float:
        """Return the only number in it."""


Columns = Callable[[FloatArray | IntArray], Tensor]
Values = Callable[[list[float] | list[int]], Tensor]


def on_one_thread() -> tuple[Columns, Values]:
    """Return torch's ways from arrays (not copied) and from lists, and keep it to one thread."""
    torch = import_module("torch")
    torch.set_num_threads(1)
    return torch.from_numpy, torch.tensor


def n_bytes(state: Mapping[str, Tensor | Iterable[Tensor]]) -> int:
    """Return the bytes of all tensors of a state."""
    total = 0
    for value in state.values():
        for tensor in value if isinstance(value, Iterable) else (value,):
            total += tensor.nbytes
    return total
