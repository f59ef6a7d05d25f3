"""Templates of annotations: the few forms of Prometheus' that alerts need, and no evaluation.

``{{ $labels.model }}``, ``{{ $value }}``, ``{{ $alert }}`` and ``{{ $reason }}``; functions come
behind a bar or before the value: ``{{ $value | humanizePercentage }}``, ``{{ $value | printf
"%.3f" }}``, ``{{ printf "%.3f" $value }}``. Everything is checked when the file is read.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from streamauc.rules import formats
from streamauc.rules.problems import nearest

VARIABLES = ("$labels", "$value", "$alert", "$reason")
_NUMBERS: Mapping[str, Callable[[float], str]] = {
    "humanize": formats.humanize,
    "humanize1024": formats.humanize_binary,
    "humanizePercentage": formats.humanize_percentage,
    "humanizeDuration": formats.humanize_duration,
    "humanizeTimestamp": formats.humanize_timestamp,
}
_TEXTS: Mapping[str, Callable[[str], str]] = {
    "toUpper": str.upper,
    "toLower": str.lower,
    "title": str.title,
}
FUNCTIONS = (*_NUMBERS, *_TEXTS, "printf")
_TOKEN = re.compile(r'\s*(\$\w+(?:\.\w+)?|"(?:[^"\\]|\\["\\])*"|\w+|\||\S)')


class TemplateError(ValueError):
    """A template that cannot be used; `position` is where in its text."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.message, self.position = message, position

    def __reduce__(self) -> tuple[type["TemplateError"], tuple[str, int]]:
        return type(self), (self.message, self.position)


@dataclass(frozen=True, slots=True)
class Values:
    """What a template may show of an alert."""

    alert: str
    labels: Mapping[str, str]
    value: float
    reason: str

    def get(self, variable: str) -> float | str:
        """Return the value of a variable; a label that there is not is the empty text."""
        name, _, label = variable.partition(".")
        if name == "$labels":
            return self.labels.get(label, "")
        return self.value if name == "$value" else self.alert if name == "$alert" else self.reason


@dataclass(frozen=True, slots=True)
class Call:
    """A function and the format of printf; "" for others."""

    function: str
    form: str = ""

    def apply(self, value: float | str) -> str:
        """Return the text that the function makes of a value."""
        if self.function == "printf":
            return formats.printf(self.form, value)
        if isinstance(value, str):
            return _TEXTS[self.function](value)
        return _NUMBERS[self.function](value)


@dataclass(frozen=True, slots=True)
class Expression:
    """What stands between ``{{`` and ``}}``: a variable, and functions one after the other."""

    variable: str
    calls: tuple[Call, ...]

    def render(self, values: Values) -> str:
        """Return the text of the expression."""
        found = values.get(self.variable)
        for call in self.calls:
            found = call.apply(found)
        return found if isinstance(found, str) else formats.plain(found)


@dataclass(frozen=True, slots=True)
class Template:
    r"""A text with expressions.

    >>> template = Template.parse("AUC of {{ $labels.model }}: {{ $value | printf \"%.2f\" }}")
    >>> template.render(Values("low", {"model": "fraud"}, 0.7134, ""))
    'AUC of fraud: 0.71'
    """

    source: str
    parts: tuple[str | Expression, ...]

    @classmethod
    def parse(cls, source: str) -> "Template":
        """Return the template of a text. O(length). Raises TemplateError."""
        parts: list[str | Expression] = []
        at = 0
        while (opened := source.find("{{", at)) >= 0:
            closed = source.find("}}", opened)
            if closed < 0:
                raise TemplateError("'{{' must be closed by '}}'", opened)
            inner = source[opened + 2 : closed]
            parts += [source[at:opened], _Parser(inner, opened + 2).expression()]
            at = closed + 2
        return cls(source, tuple(part for part in [*parts, source[at:]] if part != ""))

    def render(self, values: Values) -> str:
        """Return the text for an alert."""
        return "".join(
            part if isinstance(part, str) else part.render(values) for part in self.parts
        )


class _Parser:
    """Parses one expression; `offset` is where it begins in the template."""

    def __init__(self, text: str, offset: int) -> None:
        self._tokens = [(match[1], offset + match.start(1)) for match in _TOKEN.finditer(text)]
        self._end = offset + len(text)
        self._index = 0

    def _peek(self) -> tuple[str, int]:
        if self._index < len(self._tokens):
            return self._tokens[self._index]
        return "", self._end

    def _take(self) -> tuple[str, int]:
        found = self._peek()
        self._index += 1
        return found

    def expression(self) -> Expression:
        """Return ``$variable | function | function``, or ``function $variable | function``."""
        first: Call | None = None
        position = self._peek()[1]
        if not self._peek()[0].startswith("$"):
            first = self._call()
        variable = self._variable()
        is_number = variable == "$value"
        calls: list[Call] = []
        if first is not None:
            calls.append(_checked(first, position, is_number=is_number))
        while self._peek()[0]:
            self._bar()
            position = self._peek()[1]
            calls.append(_checked(self._call(), position, is_number=is_number and not calls))
        return Expression(variable, tuple(calls))

    def _variable(self) -> str:
        token, position = self._take()
        name, dot, _ = token.partition(".")
        if not token.startswith("$"):
            got = repr(token) if token else "nothing"
            raise TemplateError(f"expected a variable such as $value, got {got}", position)
        if name not in VARIABLES:
            raise TemplateError(f"unknown variable {name!r}{nearest(name, VARIABLES)}", position)
        if bool(dot) != (name == "$labels"):
            wanted = "$labels.name" if name == "$labels" else name
            raise TemplateError(f"variable must be written {wanted}, got {token!r}", position)
        return token

    def _bar(self) -> None:
        word, position = self._take()
        if word != "|":
            raise TemplateError(f"expected '|' or '}}}}', got {word!r}", position)

    def _call(self) -> Call:
        word, position = self._take()
        if not word:
            raise TemplateError("expected a variable or a function, got nothing", position)
        if word not in FUNCTIONS:
            hint = nearest(word, (*VARIABLES, *FUNCTIONS))
            raise TemplateError(f"unknown function {word!r}{hint}", position)
        if word != "printf":
            return Call(word)
        form, position = self._take()
        if not form.startswith('"') or len(form) < 2:
            got = repr(form) if form else "nothing"
            raise TemplateError(
                f'printf must be given a format such as "%.3f", got {got}', position
            )
        return Call(word, re.sub(r'\\(["\\])', r"\1", form[1:-1]))


def _checked(call: Call, position: int, *, is_number: bool) -> Call:
    """Return a call if it suits the value it is given."""
    if call.function == "printf":
        try:
            formats.printf_verb(call.form, of_number=is_number)
        except ValueError as error:
            raise TemplateError(str(error), position) from None
    elif (call.function in _NUMBERS) != is_number:
        wanted, got = ("a number", "a text") if not is_number else ("a text", "a number")
        raise TemplateError(f"{call.function} must be given {wanted}, got {got}", position)
    return call
