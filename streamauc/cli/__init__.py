"""The command line, an extra: ``streamauc replay``, ``check``, ``store``, ``rules``, ``demo``.

To a monitoring system the exit codes 1 and 2 are alerts, so a wrong command line ends with 3,
whatever it was meant to be: a misspelt ``check`` must not page anybody.
"""

import sys


def main() -> None:
    """Run the command line; says which extra is missing if one is."""
    try:
        _run()
    except Exception as error:
        if not _is_check():
            raise
        import traceback

        traceback.print_exc()
        _end_unknown(f"{type(error).__name__}: {error}")


def _run() -> None:
    if _is_check():
        from streamauc.cli.guard import guarded_check
        from streamauc.cli.plain_check import read_plain_check

        plain = read_plain_check(sys.argv[2:])
        if plain is not None:
            guarded_check(
                plain.rules,
                plain.store,
                output=plain.output,
                now=plain.now,
                skip_damaged=plain.skip_damaged,
            )
    _run_whole()


def _run_whole() -> None:
    try:
        from streamauc.cli.app import app
        from streamauc.cli.guard import Finished
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in ("typer", "rich", "click"):
            raise
        message = (
            f"the command line needs the extra 'cli', got no module {missing!r};"
            " in a checkout: pip install '.[cli]'"
        )
        print(f"streamauc: {message}", file=sys.stderr)
        if _is_check():
            _end_unknown(message)
        sys.exit(1)
    try:
        app()
    except SystemExit as end:
        if end.code == 2 and not isinstance(end, Finished):
            _end_wrong(end.__context__)
        raise


def _end_wrong(error: BaseException | None) -> None:
    """End a wrong command line; what was or may have been a check says so as a plugin does."""
    from streamauc.cli.unknown import UNKNOWN

    context = getattr(error, "ctx", None)
    parent = getattr(context, "parent", None)
    is_of_check = parent is None or getattr(context, "info_name", None) == "check"
    if is_of_check and len(sys.argv) > 1:
        describe = getattr(error, "format_message", lambda: "wrong options, see standard error")
        _end_unknown(str(describe()))
    sys.exit(UNKNOWN)


def _end_unknown(message: str) -> None:
    from streamauc.cli.unknown import UNKNOWN, output_of, say_unknown

    say_unknown(message, output_of(sys.argv[1:]))
    sys.exit(UNKNOWN)


def _is_check() -> bool:
    """Return whether a monitoring system reads the exit code, to which 1 and 2 mean alerts."""
    return sys.argv[1:2] == ["check"]
