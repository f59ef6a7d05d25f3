"""The cases from public bug reports: the file, the comparison, and who runs which.

`cases.jsonl` says where each was reported and why its values are right.
"""

import json
import math
from pathlib import Path

CASES = {
    case["id"]: case
    for case in map(json.loads, Path(__file__).with_name("cases.jsonl").read_text().splitlines())
}

# The cases that need what is not built yet; every other one is run by some test file.
LATER = {
    "prom-bucket-ends": "needs the exposition for Prometheus",
}


def agree(found, expected, tol):
    """Return whether a result is as expected.

    An expected error is met by ``nan`` or by a message of our own. Numbers agree to `tol`,
    relative above 1 and below 1e-6.
    """
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(
            agree(found[key], value, tol) for key, value in expected.items()
        )
    if isinstance(expected, list):
        return len(found) == len(expected) and all(
            agree(one, value, tol) for one, value in zip(found, expected, strict=True)
        )
    if isinstance(expected, str) and expected.startswith("error:"):
        return isinstance(found, str) or math.isnan(found)
    want = float(expected)
    size = abs(want)
    return found == want or abs(found - want) <= tol * (size if size > 1 or size < 1e-6 else 1)
