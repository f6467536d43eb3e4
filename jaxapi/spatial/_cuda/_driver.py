"""CUDA's driver: its answers, and the context of a GPU that its calls are made in."""

import contextlib

__all__ = ["Context"]


class Context:
    """The context that JAX uses on one GPU, as `cuda.bindings.driver` has it."""

    def __init__(self, driver, ordinal: int):
        self._driver = driver
        self._context = self._checked(
            driver.cuDevicePrimaryCtxRetain(self._checked(driver.cuDeviceGet(ordinal)))
        )

    @contextlib.contextmanager
    def _in_context(self):
        self._checked(self._driver.cuCtxPushCurrent(self._context))
        try:
            yield
        finally:
            self._checked(self._driver.cuCtxPopCurrent())

    @staticmethod
    def _checked(answer):
        error, *values = answer
        if int(error):
            raise RuntimeError(f"CUDA's driver answers {error!r}")
        return values[0] if len(values) == 1 else values
