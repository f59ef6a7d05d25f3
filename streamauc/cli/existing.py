"""Opening a store that must be there."""

from pathlib import Path

from streamauc.store import Store


def existing_store(path: str, *, read_only: bool = False, skip_damaged: bool = False) -> Store:
    """Open a store; one that is misspelt is not made. Raises FileNotFoundError."""
    if not Path(path).exists():
        raise FileNotFoundError(f"{path}: no such store")
    return Store(path, read_only=read_only, skip_damaged=skip_damaged)
