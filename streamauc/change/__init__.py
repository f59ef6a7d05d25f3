"""What changed between two sets of events, and why; no clock, histograms in, results out."""
