"""The last n events and the area under their ROC curve, exact after each of them."""

from streamauc.sliding.window import SlidingWindow

__all__ = ["SlidingWindow"]
