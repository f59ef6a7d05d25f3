"""The layers of the house: a module imports from lower rows only, and nothing goes in circles."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "streamauc"

# Row by row from the bottom, as in the design; a package stands for all that is in it.
ROWS = (
    ("_check", "_time", "_special", "_beta", "_gamma", "_html", "_fork"),
    ("scale", "storage", "keys", "codec", "histogram", "accumulator"),
    ("counts",),
    ("metrics",),
    ("change",),
    ("tiers", "stats", "events", "clock", "window", "pairing", "sliding"),
    ("nodes", "timeline", "store"),
    (
        "intake",
        "offered",
        "join",
        "maturity",
        "advance",
        "drift",
        "history",
        "answers",
        "reader",
        "ledger",
        "memory_ledger",
        "putting",
        "stored_ledger",
        "unwritten",
        "storing",
        "flusher",
        "recorder",
        "predictions",
        "keeping",
        "monitor",
        "rules",
    ),
    ("cli", "plot", "demo", "river", "__main__"),
)
ROW_OF = {name: number for number, names in enumerate(ROWS) for name in names}
CORE_THIRD_PARTY = {"numpy", "sortedcontainers"}


def module_name(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules():
    return {module_name(path): path for path in PACKAGE.rglob("*.py")}


def imported(path):
    """All modules that a file imports, `from package import module` resolved to the module."""
    known = modules()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} uses a relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in known else node.module


def top(name):
    return name.split(".")[1] if "." in name else None


MODULES = sorted(name for name in modules() if name != "streamauc")


@pytest.mark.parametrize("name", MODULES)
def test_imports_point_down(name):
    """A module imports from its own row or a lower one."""
    for other in imported(modules()[name]):
        if other.startswith("streamauc."):
            assert ROW_OF[top(other)] <= ROW_OF[top(name)], f"{name} imports {other}"


def test_every_module_has_a_row():
    """A new module must be given its place in the house."""
    assert {top(name) for name in MODULES} == set(ROW_OF)


def test_nothing_imports_in_circles():
    """The imports, taken together, can be drawn without a circle."""
    graph = {
        name: {other for other in imported(modules()[name]) if other in MODULES} for name in MODULES
    }
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"circle: {' -> '.join(error.args[1])}")


@pytest.mark.parametrize("name", [name for name in MODULES if ROW_OF[top(name)] < len(ROWS) - 1])
def test_the_core_needs_numpy_and_sortedcontainers_only(name):
    """No module below the edges imports any other third-party package, not even lazily."""
    import sys

    third_party = {
        other.split(".")[0]
        for other in imported(modules()[name])
        if other.split(".")[0] not in {*sys.stdlib_module_names, "streamauc"}
    }
    assert third_party <= CORE_THIRD_PARTY
