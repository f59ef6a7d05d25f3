"""What is done around a fork, and in which order."""

import os
import subprocess
import sys

import pytest

from streamauc import _fork

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

FIRST_RECORDERS = "import streamauc.recorder, streamauc.store.connections"
FIRST_STORES = "import streamauc.store.connections, streamauc.recorder"


@pytest.mark.parametrize("imports", [FIRST_RECORDERS, FIRST_STORES])
def test_stores_come_before_recorders_whatever_was_loaded_first(imports):
    """A recorder of a child starts a thread, which takes the locks of its store at once."""
    script = (
        f"{imports}\nfrom streamauc import _fork\n"
        "print(*[one.in_child.__module__ for one in _fork._CONCERNS])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.split() == ["streamauc.store.connections", "streamauc.recorder"], done.stderr


def test_all_is_done_on_both_sides(monkeypatch):
    """Before the fork, in the parent and in the child, by rank and then by registration."""
    seen = []
    monkeypatch.setattr(_fork, "_CONCERNS", [])
    for name, rank in (("above", _fork.ABOVE), ("ground", _fork.GROUND), ("more", _fork.GROUND)):
        _fork.concern(
            rank,
            before=lambda name=name: seen.append(f"before {name}"),
            in_parent=lambda name=name: seen.append(f"parent {name}"),
            in_child=lambda name=name: seen.append(f"child {name}"),
        )
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        os.write(write, ",".join(seen).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    before = ["before ground", "before more", "before above"]
    assert seen == [*before, "parent ground", "parent more", "parent above"]
    child = os.read(read, 10_000).decode().split(",")
    assert child == [*before, "child ground", "child more", "child above"]
    os.close(read)
    os.close(write)
