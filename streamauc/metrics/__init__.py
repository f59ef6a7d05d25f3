"""Metrics: pure functions of `ThresholdCounts`, listed in the catalogue."""
