"""What ``check`` prints where it could not judge: a plugin runner reads standard output only."""

import json
from collections.abc import Sequence

UNKNOWN = 3
_NAMED = 3


def say_unknown(message: str, output: str) -> None:
    """Print that the state is unknown, and why, as a plugin's line or as JSON."""
    if output == "json":
        found = {"status": "UNKNOWN", "exit_code": UNKNOWN, "error": message, "alerts": []}
        print(json.dumps(found, indent=2), flush=True)
    else:
        print(f"STREAMAUC UNKNOWN - {_line(message)}", flush=True)


def output_of(arguments: Sequence[str]) -> str:
    """Return the format that a command line asks for, however wrong the rest of it is."""
    text = " ".join(arguments).replace("=", " ")
    return "json" if "--format json" in text else "table"


def _line(message: str) -> str:
    """Return the first lines of a message in one; a bar would begin the performance data."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    more = f"; and {len(lines) - _NAMED} more" if len(lines) > _NAMED else ""
    return ("; ".join(lines[:_NAMED]) + more).replace("|", "/")
