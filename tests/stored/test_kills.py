"""Processes that write to one store are killed at random moments; nothing is lost or doubled."""

import json
import os
import subprocess
import sys
from pathlib import Path

CAMPAIGN = Path(__file__).with_name("campaign.py")
LONG = os.environ.get("STREAMAUC_LONG") == "1"


def test_kills_lose_nothing_and_double_nothing(tmp_path):
    """After each kill the file is whole; in the end all is as in an undisturbed run."""
    n_kills = 2_000 if LONG else 60
    command = [sys.executable, "-W", "error", str(CAMPAIGN), str(tmp_path / "metrics.db")]
    done = subprocess.run(
        [*command, str(n_kills), "7"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kills"] >= n_kills
