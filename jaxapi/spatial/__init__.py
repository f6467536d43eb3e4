"""Spatial data structures, with SciPy's interface."""

__all__: list[str] = []
