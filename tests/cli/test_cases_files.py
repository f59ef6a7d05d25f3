"""The cases from public bug reports that read a file, through ``streamauc replay``."""

import base64
import json

import pytest
from cases import CASES, agree
from typer.testing import CliRunner

from streamauc.cli.app import app


def replay(case, folder, *options):
    """Write the case's file, replay it with the columns that it names, and return the JSON."""
    given, query = case["input"], case["query"]
    path = folder / given["file_name"]
    path.write_bytes(
        base64.b64decode(given["base64"]) if "base64" in given else given["text"].encode()
    )
    columns = {"t": "--time", "score": "--score", "label": "--label"}
    named = [word for key, name in query["columns"].items() for word in (columns[key], name)]
    done = CliRunner().invoke(app, ["replay", str(path), *named, *options, "--format", "json"])
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ["missing-label"])
def test_missing_labels_are_pending(name, tmp_path):
    """Empty and NA labels are counted as pending and score nobody."""
    case = CASES[name]
    found = replay(case, tmp_path)
    whole = found["all"]
    report = {
        "rows": whole["n_samples"] + found["n_pending"],
        "labelled": whole["n_samples"],
        "pending": found["n_pending"],
        "roc_auc": whole["roc_auc"],
    }

    assert agree(report, case["expected"], case["tol"])


@pytest.mark.parametrize("stated", [True, False])
@pytest.mark.parametrize("name", ["csv-semicolon-decimal-comma"])
def test_a_european_spreadsheet(name, stated, tmp_path):
    """Semicolons and decimal commas, whether stated or guessed, lose no digit and no row."""
    case = CASES[name]
    options = ["--delimiter", ";", "--decimal", ","] if stated else []
    whole = replay(case, tmp_path, *options)["all"]

    report = {"rows": whole["n_samples"], "roc_auc": whole["roc_auc"]}
    assert agree(report, case["expected"], case["tol"])


@pytest.mark.parametrize("name", ["gzip-several-members"])
def test_every_member_of_a_gzip_file_is_read(name, tmp_path):
    """Hourly files joined end to end are read to the last row."""
    case = CASES[name]
    whole = replay(case, tmp_path)["all"]

    report = {"rows": whole["n_samples"], "roc_auc": whole["roc_auc"]}
    assert agree(report, case["expected"], case["tol"])
