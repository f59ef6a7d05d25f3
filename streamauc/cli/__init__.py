"""The command line, an extra: ``streamauc replay``, ``check``, ``store``, ``rules``, ``demo``."""

import sys


def main() -> None:
    """Run the command line; says which extra is missing if one is."""
    try:
        from streamauc.cli.app import app
        from streamauc.cli.guard import Finished
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in ("typer", "rich", "click"):
            raise
        sys.exit(
            f"streamauc: the command line needs the extra 'cli', got no module {missing!r};"
            " in a checkout: pip install '.[cli]'"
        )
    try:
        app()
    except SystemExit as end:
        # To a monitoring system 2 means critical, and a wrong option must page nobody.
        if sys.argv[1:2] == ["check"] and end.code == 2 and not isinstance(end, Finished):
            sys.exit(3)
        raise
