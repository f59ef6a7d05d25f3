"""Print one of the README's two commands, so that CI runs what a newcomer types."""

import re
import sys
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def main() -> None:
    """Print the command that runs the demo or the tests."""
    commands = re.findall(r"^python3 -m venv .*$", README.read_text(), flags=re.MULTILINE)
    wanted = {"demo": "streamauc demo", "test": "pytest"}[sys.argv[1]]
    found = [command for command in commands if wanted in command]
    if len(found) != 1:
        sys.exit(f"README.md must hold one command with {wanted!r}, got {len(found)}")
    print(found[0])


main()
