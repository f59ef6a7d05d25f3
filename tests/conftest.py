"""Settings of all tests."""

import os

from hypothesis import HealthCheck, settings

# No test asserts how long anything takes: machines are shared, and a slow moment is no fault.
# CI draws the same examples each time, so that a change is judged by what it changes; everybody
# else draws new ones, and meets what nobody has thought of.
settings.register_profile(
    "shared",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("shared")
