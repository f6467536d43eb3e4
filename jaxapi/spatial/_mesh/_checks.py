"""Whether all points or queries on a mesh are finite, found out so that devices need not wait for it."""

from concurrent.futures import ThreadPoolExecutor

import jax

from ..._core._dtypes import x64_for
from ..._core._programs import eagerly, is_traced
from .._device._engines import engine_of
from . import _programs
from ._layout import Layout

__all__ = ["all_finite"]

THREAD = ThreadPoolExecutor(1, "jaxapi-finite")


def all_finite(x, layout: Layout, spread: bool):
    """Return what `bool` asks whether the first ``layout.n`` of `x` are finite; true of traced ones.

    Processes agree on the answer by a compiled question: it is put first, and answered while the devices do
    what comes next. Within one process each GPU answers without waiting for that.
    """
    if is_traced(x):
        return True
    at_side = getattr(engine_of(x), "all_finite", None)
    if x.is_fully_addressable and at_side:
        parts = [part.data for part in x.addressable_shards][: None if spread else 1]
        answers = list(map(at_side, parts))
        if None not in answers:
            return _AtSide(answers, x, layout, spread)
    answer = _compiled(x, layout, spread)
    answer.copy_to_host_async()
    return answer


class _AtSide:
    """The answers of all devices; lines that do not count may be the ones that are not finite.

    They are awaited in a thread: to start a search whose rounds are asked for may take as long as the search.
    """

    def __init__(self, answers, x, layout: Layout, spread: bool):
        self._answer, self._question = THREAD.submit(all, answers), (x, layout, spread)

    def __bool__(self) -> bool:
        return self._answer.result() or bool(_compiled(*self._question))


def _compiled(x: jax.Array, layout: Layout, spread: bool):
    with eagerly(), x64_for(x.dtype):
        return _programs.all_finite(x, layout=layout, spread=spread)
