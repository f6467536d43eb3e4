"""What CuPy's programs ask of `cupy.cuda` to choose a GPU and to wait for it."""

import contextlib as _contextlib
import typing as _typing

import jax as _jax

from .._missing import says_what_to_write as _says_what_to_write

__all__ = ["Device", "Stream", "runtime"]


def __dir__() -> list[str]:
    """Only the public names."""
    return sorted(__all__)


class Device(_contextlib.ContextDecorator):
    """One of JAX's devices, by its number; as a context it is where new arrays go."""

    def __init__(self, device: int | None = None):
        """Take a number; the first device by default."""
        self.id = int(device or 0)
        self._device = _jax.devices()[self.id]

    def __int__(self) -> int:
        return self.id

    def __enter__(self) -> "Device":
        """Let new arrays go to the device."""
        self._context = _jax.default_device(self._chosen)
        self._context.__enter__()
        return self

    def __exit__(self, *error) -> None:
        """Go back to the device before."""
        self._context.__exit__(*error)

    def use(self) -> None:
        """Let new arrays of the whole program go to the device."""
        _jax.config.update("jax_default_device", self._chosen)

    @property
    def _chosen(self) -> "_jax.Device | None":
        """What JAX is told: nothing of its first device, which new arrays go to anyway."""
        return self._device if self.id else None

    def synchronize(self) -> None:
        """Wait until the device is done."""
        _jax.block_until_ready(_jax.device_put(0, self._device))


class Stream:
    """The one stream of JAX's programs, which run one after another."""

    null: "Stream"

    def __init__(self, null: bool = False, non_blocking: bool = False):
        """Stand for the stream, whichever is asked for."""

    def __enter__(self) -> "Stream":
        """Change nothing: there is one stream."""
        return self

    def __exit__(self, *error) -> None:
        """Change nothing."""

    def synchronize(self) -> None:
        """Wait until everything is done."""
        Device().synchronize()


Stream.null = Stream()


class runtime:
    """What is asked of CUDA's runtime."""

    @staticmethod
    def getDeviceCount() -> int:
        """Return the number of JAX's devices."""
        return _jax.device_count()

    @staticmethod
    def deviceSynchronize() -> None:
        """Wait until everything is done."""
        Device().synchronize()


if not _typing.TYPE_CHECKING:  # for a type checker unknown names stay errors
    __getattr__ = _says_what_to_write(__name__)
