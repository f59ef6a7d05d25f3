"""Processes that write to one store are killed at random moments; nothing is lost or doubled."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CAMPAIGN = Path(__file__).with_name("campaign.py")
LONG = os.environ.get("STREAMAUC_LONG") == "1"
# Every kill is followed by a check of the whole file, so a file is not grown without end.
SEEDS, N_KILLS = (range(7, 17), 200) if LONG else (range(7, 8), 60)


@pytest.mark.parametrize("seed", SEEDS)
def test_kills_lose_nothing_and_double_nothing(tmp_path, seed):
    """After each kill the file is whole; in the end all is as in an undisturbed run."""
    command = [sys.executable, "-W", "error", str(CAMPAIGN), str(tmp_path / "metrics.db")]
    done = subprocess.run(
        [*command, str(N_KILLS), str(seed)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kills"] >= N_KILLS
