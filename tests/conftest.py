"""Settings of all tests."""

from hypothesis import HealthCheck, settings

# No test asserts how long anything takes: machines are shared, and a slow moment is no fault.
settings.register_profile("shared", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared")
