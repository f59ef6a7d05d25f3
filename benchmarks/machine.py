"""What a table has to say about where and with what it was measured."""

import os
import platform
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = (
    "numpy",
    "sortedcontainers",
    "pyarrow",
    "scikit-learn",
    "scipy",
    "river",
    "datasketches",
    "torch",
    "torchmetrics",
    "torcheval",
    "keras",
    "numba",
)


def describe() -> dict[str, str]:
    """Return the date, the machine, and the version of each package or ``missing``."""
    found = {
        "date": date.today().isoformat(),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}{_vectors()}",
        "cores": str(os.cpu_count()),
    }
    return found | {name: _version(name) for name in _PACKAGES}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def _vectors() -> str:
    """Return the widest vector instructions, which decide how fast numpy is, where known."""
    path = Path("/proc/cpuinfo")
    flags = path.read_text().split() if path.exists() else []
    widest = next((name for name in ("avx512f", "avx2") if name in flags), "")
    return f" ({widest})" if widest else ""
