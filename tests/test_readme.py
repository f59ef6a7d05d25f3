"""The README says what is so."""

import re
from pathlib import Path

import pytest
import typer

from streamauc.cli.report import _WORDS
from streamauc.cli.storing.app import app as store_app
from streamauc.metrics import catalogue
from streamauc.metrics.intervals import SMALL_CLASS

README = (Path(__file__).parent.parent / "README.md").read_text()


def part(name):
    """Return what stands between the marks of a generated part."""
    return re.search(f"<!-- {name} -->\n(.*)\n<!-- /{name} -->", README, re.DOTALL)[1].strip()


def test_the_metric_table_is_the_catalogue():
    """The table of metrics is the one that the catalogue prints."""
    assert part("catalogue") == catalogue.table()


def test_every_reason_for_undefined_is_named():
    """In the row that says what undefined is, and no other; and the command line knows each."""
    row = re.search(r"^\| undefined \| (.*?\))", README, re.MULTILINE)[1]

    assert re.findall("`([a-z_]+)`", row)[1:] == list(catalogue.REASONS)
    assert catalogue.REASONS.keys() <= _WORDS.keys()


def test_the_switch_of_the_interval_is_the_code_s():
    """The number of samples at which the interval changes its method is the one in use."""
    assert f"fewer than {SMALL_CLASS} samples" in README.replace("\n", " ")


def test_there_are_two_commands_on_one_line_each():
    """A newcomer types two single lines, each from an empty environment."""
    commands = re.findall(r"^python3 -m venv \.venv && .*$", README, re.MULTILINE)

    assert len(commands) == 2
    assert "streamauc demo" in commands[0]
    assert "pytest" in commands[1]


@pytest.mark.parametrize("command", typer.main.get_command(store_app).commands)
def test_the_commands_for_a_store_are_named(command):
    """Each with a line of its own, and the file it works on."""
    assert re.search(rf"^\| `store {command} \S+.*` \| \S", README, re.MULTILINE)
