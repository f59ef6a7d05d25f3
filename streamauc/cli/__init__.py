"""The command line, an extra: ``streamauc replay`` and ``streamauc demo``."""

import sys


def main() -> None:
    """Run the command line; says which extra is missing if one is."""
    try:
        from streamauc.cli.app import app
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in ("typer", "rich", "click"):
            raise
        sys.exit(
            f"streamauc: the command line needs the extra 'cli', got no module {missing!r};"
            " in a checkout: pip install '.[cli]'"
        )
    app()
