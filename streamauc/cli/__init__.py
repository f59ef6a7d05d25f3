"""The command line, an extra: ``streamauc replay``, ``check``, ``store``, ``rules``, ``demo``."""

import sys

_UNKNOWN = 3


def main() -> None:
    """Run the command line; says which extra is missing if one is."""
    try:
        _run()
    except Exception:
        if not _is_check():
            raise
        import traceback

        traceback.print_exc()
        sys.exit(_UNKNOWN)


def _run() -> None:
    if _is_check():
        from streamauc.cli.guard import guarded_check
        from streamauc.cli.plain_check import read_plain_check

        plain = read_plain_check(sys.argv[2:])
        if plain is not None:
            guarded_check(plain.rules, plain.store, output=plain.output, now=plain.now)
    _run_whole()


def _run_whole() -> None:
    try:
        from streamauc.cli.app import app
        from streamauc.cli.guard import Finished
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in ("typer", "rich", "click"):
            raise
        print(
            f"streamauc: the command line needs the extra 'cli', got no module {missing!r};"
            " in a checkout: pip install '.[cli]'",
            file=sys.stderr,
        )
        sys.exit(_UNKNOWN if _is_check() else 1)
    try:
        app()
    except SystemExit as end:
        if _is_check() and end.code == 2 and not isinstance(end, Finished):
            sys.exit(_UNKNOWN)
        raise


def _is_check() -> bool:
    """Return whether a monitoring system reads the exit code, to which 1 and 2 mean alerts."""
    return sys.argv[1:2] == ["check"]
