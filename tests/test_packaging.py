"""What an installation loads, and what it says when something is missing."""

import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CORE = (
    "import streamauc, streamauc.monitor, streamauc.codec, streamauc.timeline;"
    "[getattr(streamauc, name) for name in streamauc.__all__];"
)


def only(tmp_path, *packages):
    """Return a folder in which only these packages can be imported, besides our own."""
    for name in (*packages, "streamauc"):
        folder = Path(importlib.util.find_spec(name).submodule_search_locations[0])
        (tmp_path / name).symlink_to(folder)
        for libraries in folder.parent.glob(f"{name}.libs"):
            (tmp_path / libraries.name).symlink_to(libraries)
    return tmp_path


def run(folder, code):
    """Run code in a bare interpreter that sees the standard library and one folder."""
    program = f"import sys; sys.path.append({str(folder)!r}); {code}"
    return subprocess.run(
        [sys.executable, "-I", "-S", "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_core_runs_with_numpy_and_sortedcontainers_only(tmp_path):
    """With nothing else installed the core counts and answers, and loads nothing else."""
    code = CORE + (
        "m = streamauc.Monitor(clock='event'); m.update_many([0, 1], [0.2, 0.9], [0, 1]);"
        "print(m.window(0, 60).roc_auc, m.window(0, 60).interval('roc_auc').note);"
        "ours = {name.split('.')[0] for name in sys.modules} - set(sys.stdlib_module_names);"
        "print(sorted(name for name in ours if not name.startswith('_')))"
    )
    done = run(only(tmp_path, "numpy", "sortedcontainers"), code)

    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "1.0 undefined: fewer than two positives",
        "['numpy', 'sortedcontainers', 'streamauc']",
    ]


@pytest.mark.parametrize("arguments", [["--help"], ["replay", "--help"], ["demo", "--help"]])
def test_help_loads_neither_numpy_nor_pyarrow(arguments):
    """Help is instant: nothing heavy is imported for it."""
    code = (
        "import sys; from streamauc.cli import main; sys.argv[1:] = sys.argv[1:]\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "print({'numpy', 'pyarrow', 'matplotlib', 'sklearn'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert done.stdout.splitlines()[-1] == "set()"


def test_a_missing_extra_is_named(tmp_path):
    """Without Typer the command line is one line that names the extra, not a traceback."""
    done = run(
        only(tmp_path, "numpy", "sortedcontainers"), "from streamauc.cli import main; main()"
    )

    assert done.returncode == 1
    assert done.stderr == (
        "streamauc: the command line needs the extra 'cli', got no module 'typer';"
        " in a checkout: pip install '.[cli]'\n"
    )


def test_floors_have_no_ceiling():
    """Dependencies state the lowest version that works, never a highest one."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    stated = list(project["dependencies"])
    for extra in project["optional-dependencies"].values():
        stated += extra

    assert project["dependencies"] == ["numpy>=2.0", "sortedcontainers>=2.4"]
    for one in stated:
        assert not set(one) & set("<=!~") or (">=" in one and not set(one) & set("<!~")), one


def test_types_are_shipped():
    """The package says that it is typed."""
    assert (ROOT / "streamauc" / "py.typed").exists()
