"""How every command ends: with its exit code, and its errors as one line."""

import gc
import os
import sys
from collections.abc import Callable

from streamauc.cli.unknown import UNKNOWN, say_unknown


class Finished(SystemExit):
    """The end of a command that ran; any other exit is that of wrong options."""


def guarded(
    run: Callable[[], int], *, wrong: int = 2, say: Callable[[str], None] | None = None
) -> None:
    """Run a command; what the user can mend is on standard error, and the exit code `wrong`.

    `say` is told of it as well.
    """
    try:
        code = run()
    except BrokenPipeError:
        # Whoever read the output has seen enough; nothing is left to be flushed at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141
    except (ValueError, TypeError, OSError, ImportError, RuntimeError) as error:
        print(f"streamauc: {error}", file=sys.stderr)
        if say is not None:
            say(str(error))
        code = wrong
    except KeyboardInterrupt:
        print("streamauc: interrupted", file=sys.stderr)
        code = 130
    raise Finished(code)


def guarded_check(
    rules: str, store: str, *, output: str, now: str | None, skip_damaged: bool
) -> None:
    """Run ``streamauc check``, which ends with 3 where any other command would with 2.

    Its first line on standard output is a plugin's, whatever happens.
    """

    def run() -> int:
        from streamauc.cli.check import run_check

        code = run_check(rules, store, output=output, now=now, skip_damaged=skip_damaged)
        # To look once more for garbage when all ends would take a tenth of the whole time.
        gc.freeze()
        return code

    guarded(run, wrong=UNKNOWN, say=lambda message: say_unknown(message, output))
