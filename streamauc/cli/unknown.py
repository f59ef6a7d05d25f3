"""What ``check`` prints where it could not judge: a plugin runner reads standard output only."""

import json
import os
import sys
from collections.abc import Sequence

UNKNOWN = 3
_NAMED = 3


def say_unknown(message: str, output: str) -> None:
    """Print that the state is unknown, and why, as a plugin's line or as JSON."""
    found = {"status": "UNKNOWN", "exit_code": UNKNOWN, "error": message, "alerts": []}
    is_json = output == "json"
    text = json.dumps(found, indent=2) if is_json else f"STREAMAUC UNKNOWN - {_line(message)}"
    try:
        print(text, flush=True)
    except OSError:  # nobody reads it, but the exit code, which a second failure would change
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def output_of(arguments: Sequence[str]) -> str:
    """Return the format that a command line asks for, however wrong the rest of it is."""
    text = " ".join(arguments).replace("=", " ")
    return "json" if "--format json" in text else "table"


def _line(message: str) -> str:
    """Return the first lines of a message in one; a bar would begin the performance data."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    more = f"; and {len(lines) - _NAMED} more" if len(lines) > _NAMED else ""
    return ("; ".join(lines[:_NAMED]) + more).replace("|", "/")
