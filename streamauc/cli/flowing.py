"""How the help of a command is laid out."""

import inspect
from collections.abc import Callable
from typing import TypeVar

Command = TypeVar("Command", bound=Callable[..., None])


def flowing(command: Command) -> Command:
    """Let the paragraphs of a command's help fill the screen; indented ones stay as they are.

    Typer itself does so for the first paragraph only.
    """
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    command.__doc__ = "\n\n".join(
        text if text.startswith(" ") else text.replace("\n", " ") for text in paragraphs
    )
    return command
