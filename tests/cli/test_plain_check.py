"""The short way into ``check`` takes what the whole command line would, or nothing."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from streamauc.cli import rules_app
from streamauc.cli.app import app
from streamauc.cli.plain_check import PlainCheck, read_plain_check

words = st.sampled_from(
    [
        "rules.toml",
        "m.db",
        "--store",
        "--store=m.db",
        "--store=",
        "--now",
        "--now=2026-01-01T00Z",
        "--format",
        "--format=json",
        "--format=csv",
        "json",
        "table",
        "--skip-damaged",
        "--help",
        "-",
        "--",
        "",
    ]
)


@settings(max_examples=300)
@given(st.lists(words, max_size=7))
def test_what_it_reads_is_what_the_whole_command_line_reads(arguments):
    """Both understand the same options alike; what only one of them takes is left to the other."""
    plain = read_plain_check(arguments)
    if plain is None:
        return
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules_app, "guarded_check", lambda *one, **rest: seen.append((one, rest)))
        result = CliRunner().invoke(app, ["check", *arguments])
    assert result.exit_code == 0, result.output
    found = {"output": plain.output, "now": plain.now, "skip_damaged": plain.skip_damaged}
    assert seen == [((plain.rules, plain.store), found)]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["r.toml", "--store", "m.db"], PlainCheck("r.toml", "m.db")),
        (["--store=m.db", "r.toml"], PlainCheck("r.toml", "m.db")),
        (
            ["--format", "json", "--now=2026-01-01T00Z", "--store", "m.db", "r.toml"],
            PlainCheck("r.toml", "m.db", "2026-01-01T00Z", "json"),
        ),
        (
            ["--skip-damaged", "--store", "m.db", "r.toml"],
            PlainCheck("r.toml", "m.db", skip_damaged=True),
        ),
    ],
)
def test_plain_options_are_read(arguments, found):
    """In any order, with a space or an equals sign between."""
    assert read_plain_check(arguments) == found


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["r.toml"],
        ["--store", "m.db"],
        ["r.toml", "--store"],
        ["r.toml", "--help"],
        ["r.toml", "--store", "m.db", "--format", "csv"],
        ["r.toml", "--store", "m.db", "--store", "n.db"],
        ["r.toml", "s.toml", "--store", "m.db"],
        ["r.toml", "--store", "--now"],
        ["r.toml", "--stor", "m.db"],
    ],
)
def test_all_else_is_left_to_the_whole_command_line(arguments):
    """Help, and everything that is wrong."""
    assert read_plain_check(arguments) is None


def test_a_check_loads_no_library_for_terminals_and_options():
    """Which would take as long as the check itself."""
    script = (
        "import sys; sys.argv = ['streamauc', 'check', 'no.toml', '--store', 'no.db']\n"
        "from streamauc.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert end.code == 3, end.code\n"
        "assert not {'typer', 'rich', 'pydantic', 'click'} & sys.modules.keys()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("streamauc: ")
