"""Numbers and lengths of time as people read them; the functions of Prometheus' templates."""

import math
import re

from streamauc import _time

_PREFIXES = ("", "k", "M", "G", "T", "P", "E", "Z", "Y")
_SMALL = ("", "m", "u", "n", "p", "f", "a", "z", "y")
_BINARY = ("", "ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi")
_VERB = re.compile(r"%([-+ #0]*)(\d{0,2})(?:\.(\d{0,2}))?([a-zA-Z%])")


def plain(value: float) -> str:
    """Return a number as short as it can be read back; ``NaN`` and ``+Inf`` as in Prometheus."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'+' if value > 0 else '-'}Inf"
    return repr(float(value)).removesuffix(".0")


def brief(value: float) -> str:
    """Return a number with up to six digits, for reasons."""
    return f"{value:.6g}" if math.isfinite(value) else plain(value)


def span(seconds: float) -> str:
    """Return a length of time as people write it, from ten seconds on in whole seconds.

    Not rounded up, as what has lasted for almost ten minutes has not lasted for ten.

    >>> span(5400), span(90), span(0.5), span(599.9)
    ('1h30m', '1m30s', '0.5s', '9m59s')
    """
    if abs(seconds) < 10:
        return f"{seconds:.3g}s"
    parts, left = [], int(abs(seconds))
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{unit}")
    return ("-" if seconds < 0 else "") + "".join(parts)


def humanize(value: float) -> str:
    """Return a number with four digits and a metric prefix."""
    if not math.isfinite(value) or not value:
        return _four(value)
    size = abs(value)
    prefixes, factor = (_PREFIXES, 1e-3) if size >= 1 else (_SMALL, 1e3)
    place = 0
    while place < len(prefixes) - 1 and (size >= 1000 if factor < 1 else size < 1):
        size, value, place = size * factor, value * factor, place + 1
    return _four(value) + prefixes[place]


def humanize_binary(value: float) -> str:
    """Return a number with four digits and a binary prefix."""
    if not math.isfinite(value) or abs(value) <= 1:
        return _four(value)
    place = 0
    while place < len(_BINARY) - 1 and abs(value) >= 1024:
        value, place = value / 1024, place + 1
    return _four(value) + _BINARY[place]


def humanize_percentage(value: float) -> str:
    """Return a share as a percentage with four digits."""
    return f"{_four(value * 100)}%"


def humanize_duration(value: float) -> str:
    """Return seconds as days, hours, minutes and seconds, or with a metric prefix below one."""
    if not math.isfinite(value):
        return _four(value)
    if abs(value) < 1:
        return f"{humanize(value)}s"
    sign, whole = "-" if value < 0 else "", int(abs(value))
    if whole < 60:
        return f"{_four(value)}s"
    minutes, seconds = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [f"{days}d"] if days else []
    parts += [f"{hours}h"] if hours or days else []
    return sign + " ".join([*parts, f"{minutes}m", f"{seconds}s"])


def humanize_timestamp(value: float) -> str:
    """Return seconds since the epoch as a time in UTC."""
    try:
        moment = _time.utc(value)
    except ValueError:  # nan, or beyond the years that have names
        return _four(value)
    return f"{moment:%Y-%m-%d %H:%M:%S} +0000 UTC"


def _four(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else plain(value)


def printf_verb(form: str, *, of_number: bool) -> str:
    """Return a format of printf. Raises ValueError unless it has one verb that suits the value.

    Numbers: ``f``, ``e``, ``g``, ``v``; texts: ``s``, ``q``, ``v``. Width and precision have at
    most two digits.
    """
    verbs = [match for match in _VERB.finditer(form) if match[4] != "%"]
    allowed = "fegEGv" if of_number else "sqv"
    if form.count("%") != sum(match[0].count("%") for match in _VERB.finditer(form)):
        raise ValueError(f"printf must have complete verbs such as %.3f, got {form!r}")
    if len(verbs) != 1 or verbs[0][4] not in allowed:
        kind = "a number" if of_number else "a text"
        choices = ", ".join(f"%{letter}" for letter in allowed)
        raise ValueError(f"printf of {kind} must have one verb of {choices}, got {form!r}")
    return form


def printf(form: str, value: float | str) -> str:
    """Return a value by a format that `printf_verb` has let through."""
    return _VERB.sub(lambda match: _formatted(match, value), form)


def _formatted(match: re.Match[str], value: float | str) -> str:
    flags, width, precision, verb = match.groups()
    if verb == "%":
        return "%"
    if isinstance(value, str):
        text = value if precision is None else value[: int(precision or 0)]
        text = f'"{text}"' if verb == "q" else text
    elif not math.isfinite(value) or (verb == "v" and precision is None):
        text = plain(value)
    else:
        kept = flags.replace("-", "").replace("0", "")
        text = f"%{kept}{'' if precision is None else '.' + precision}{verb.replace('v', 'g')}"
        text %= value
    return _padded(text, flags, int(width or 0))


def _padded(text: str, flags: str, width: int) -> str:
    if "-" in flags:
        return text.ljust(width)
    return text.zfill(width) if "0" in flags else text.rjust(width)
