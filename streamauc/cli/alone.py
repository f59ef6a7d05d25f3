"""One run at a time counts a file into a store: two would both begin where the last one ended."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from streamauc.cli.reading.source import input_size

try:
    import fcntl
except ImportError:  # Windows has no locks that end with a process that is killed
    fcntl = None  # type: ignore[assignment]


@contextmanager
def alone(files: Sequence[str]) -> Iterator[None]:
    """Hold a lock on each file. Raises ValueError for one that another run holds."""
    with ExitStack() as stack:
        seen: set[tuple[int, int]] = set()
        for file in files:
            if input_size(file) is None:  # a stream, which is refused later
                continue
            opened = os.open(file, os.O_RDONLY)
            stack.callback(os.close, opened)
            found = os.fstat(opened)
            if (found.st_dev, found.st_ino) not in seen:  # a second lock would wait for the first
                _lock(opened, file)
            seen.add((found.st_dev, found.st_ino))
        yield


def _lock(opened: int, file: str) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ValueError(
            f"{file} is being counted by another run; begin again when that has ended"
        ) from None
    except OSError:  # some file systems have no locks
        return
