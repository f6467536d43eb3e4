"""Searches by SciPy, for concrete arrays on the CPU."""
