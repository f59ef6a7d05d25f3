"""Print the lowest version of each package that pyproject.toml allows, as pip constraints."""

import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"
# Tools that look at the code, and are not run in that environment.
NOT_NEEDED = {"mypy", "ruff"}


def main() -> None:
    """Print one ``name==version`` a line."""
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    extras = project["optional-dependencies"]
    stated = [*project["dependencies"]]
    for name in ("cli", "plot", "verify", "demo", "dev"):
        stated += extras[name]
    for one in sorted(set(stated)):
        name, _, version = one.partition(">=")
        if version and name not in NOT_NEEDED and not name.endswith("-stubs"):
            print(f"{name}=={version}")


main()
