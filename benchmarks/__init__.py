"""Benchmarks: ratios to a yardstick timed in the same run. ``python -m benchmarks --help``."""
