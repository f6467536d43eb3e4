"""What libraries ask of ``lib`` of a namespace that is not the standard's: xarray, for its windows."""

from . import stride_tricks as stride_tricks

__all__ = ["stride_tricks"]


def __dir__() -> list[str]:
    """Only the public names."""
    return sorted(__all__)
