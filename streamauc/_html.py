"""Results as HTML for notebooks: small tables that look right on light and on dark pages.

No colours of their own, no scripts and no style sheets, which notebooks may remove: text and lines
take the colour of the page. Everything is escaped here, so callers hand over plain text.
"""

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape

DASH = "—"
_DECIMALS, _MOST_DECIMALS = 4, 12
_NOTHING = 1e-12
# Smaller numbers have this many digits that are not zeros in front.
_SMALL, _DIGITS = 0.01, 3
_REASONS = {
    "empty": "no events",
    "flag_nobody": "best to flag nobody",
    "not_probabilities": "scores are no probabilities",
}
_TABLE = "border-collapse:collapse;margin:.3em 0"
_DAY = "%Y-%m-%d "
_LINE = "1px solid rgba(128,128,128,.5)"
_CELL = "text-align:right;padding:.1em .6em"
_FIRST = "text-align:left;padding:.1em .6em"
_BODY = "white-space:nowrap"  # titles may be broken
# Of names, what is written in capitals.
_CAPITALS = re.compile(r"\b(roc|auc|pr|fpr|fnr|npv|f1|mcc|ks|h)\b")


def view(title: str, detail: str, *parts: str) -> str:
    """Return a whole view: a title in bold, what it is of, and parts that are HTML already."""
    head = f"<div><b>{escape(title)}</b> {escape(detail)}</div>"
    return f'<div style="line-height:1.4;overflow-x:auto">{head}{"".join(parts)}</div>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of texts; the first of each row is its name.

    A row of one text stands for rows that are left out.
    """
    titles = "".join(_cell("th", text, _side(column)) for column, text in enumerate(head))
    body = "".join(f"<tr>{_row(row, len(head))}</tr>" for row in rows)
    first = f'<thead style="border-bottom:{_LINE}"><tr>{titles}</tr></thead>'
    return f'<table style="{_TABLE}">{first}<tbody>{body}</tbody></table>'


def notes(lines: Sequence[str]) -> str:
    """Return sentences, one a line; nothing for none."""
    return "".join(f'<div style="font-size:90%">{escape(line)}</div>' for line in lines)


def _row(texts: Sequence[str], n_columns: int) -> str:
    if len(texts) == 1:
        return f'<td colspan="{n_columns}" style="text-align:center">{escape(texts[0])}</td>'
    cells = [_cell("td", text, f"{_CELL};{_BODY}") for text in texts[1:]]
    return "".join([_cell("th", texts[0], f"{_FIRST};{_BODY};font-weight:normal"), *cells])


def _side(column: int) -> str:
    return _CELL if column else _FIRST


def _cell(tag: str, text: str, style: str) -> str:
    return f'<{tag} style="{style}">{escape(text)}</{tag}>'


def title(name: str) -> str:
    """Return a name of the catalogue as people write it.

    >>> title("roc_auc"), title("fpr@0.7")
    ('ROC AUC', 'FPR@0.7')
    """
    return _CAPITALS.sub(lambda found: found[0].upper(), name.replace("_", " "))


def amount(count: float) -> str:
    """Return a number of events; a sum of weights with as many digits as can matter.

    >>> amount(1234567), amount(2.25)
    ('1,234,567', '2.25')
    """
    return f"{count:,.0f}" if count >= 100 or count == int(count) else f"{count:.4g}"


def number(value: float, reason: str | None = None) -> str:
    """Return a number with four decimals, or more where it would be taken for 0 or 1.

    What is undefined is a dash and the reason for it; what is left of 0 by rounding is 0.

    >>> number(0.5), number(0.00011), number(0.99999), number(1.0)
    ('0.5000', '0.000110', '0.99999', '1.0000')
    >>> number(math.nan, "no_positives")
    '— no positives'
    """
    if math.isnan(value):
        return f"{DASH} {spelled(reason)}" if reason else DASH
    if abs(value) < _NOTHING:
        value = 0.0
    return f"{value:,.{_places(value)}f}"


def measured(value: float, unit: str, reason: str | None) -> str:
    """Return the value of a metric of the catalogue, which may be undefined."""
    return amount(value) if unit == "events" else number(value, reason)


def signed(value: float, reason: str | None = None) -> str:
    """Return a difference in the same way, with its sign.

    >>> signed(0.25), signed(-0.25), signed(0.0)
    ('+0.2500', '-0.2500', '0.0000')
    """
    return f"+{number(value)}" if value >= _NOTHING else number(value, reason)


def span(low: float, high: float, *, is_signed: bool = False) -> str:
    """Return an interval; nothing where it is undefined."""
    if math.isnan(low + high):
        return ""
    show = signed if is_signed else number
    return f"{show(low)} to {show(high)}"


def significance(method: str, p_value: float) -> str:
    """Return what a test says; only its name, which says why, where it is undefined.

    >>> significance("Fisher", 0.03), significance("undefined: no events", math.nan)
    ('Fisher, p = 0.03', 'undefined: no events')
    """
    if math.isnan(p_value):
        return method
    return f"{method}, p < 0.0001" if p_value < 0.0001 else f"{method}, p = {p_value:.2g}"


def spelled(reason: str) -> str:
    """Return a reason of the catalogue in words.

    >>> spelled("empty"), spelled("no_positives")
    ('no events', 'no positives')
    """
    return _REASONS.get(reason, reason.replace("_", " "))


def period(start: float, end: float) -> str:
    """Return the time from start to end, seconds since the epoch, in UTC.

    >>> period(0, 3600)
    '1970-01-01 00:00 to 01:00'
    >>> period(0, 86_400)
    '1970-01-01 00:00 to 01-02 00:00'
    """
    try:
        first, last = (datetime.fromtimestamp(edge, UTC) for edge in (start, end))
    except (ValueError, OverflowError, OSError):  # no calendar reaches that far
        return f"{start:.10g} s to {end:.10g} s"
    clock = "%H:%M" if first.second == last.second == 0 else "%H:%M:%S"
    day = "" if first.date() == last.date() else "%m-%d " if first.year == last.year else _DAY
    return f"{first.strftime(_DAY + clock)} to {last.strftime(day + clock)}"


def _places(value: float) -> int:
    size = abs(value)
    if 0 < size < _SMALL:
        return min(_DIGITS - 1 - math.floor(math.log10(size)), _MOST_DECIMALS)
    places = _DECIMALS
    while places < _MOST_DECIMALS and size != 1 and float(f"{size:.{places}f}") == 1:
        places += 1
    return places
