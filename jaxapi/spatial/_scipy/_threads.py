"""Functions on several cores: how many threads pay, pieces of work, and what an interrupt must not free.

SciPy cannot be called from every thread. In XLA's, and in those that these start, numbers below the least
normal one are 0 to the processor: SciPy, which parts equal coordinates by the next number, would split points
without end. And Ctrl-C makes the main thread leave a search at once, while threads that SciPy has started go
on reading a tree that nobody holds any more. So there are threads of our own, which call SciPy and hold what
they were given until it returns. The process waits for them before it ends: a thread that comes back from
SciPy's C++ to an interpreter that is gone aborts the process.
"""

import atexit
import functools
import math
import os
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

__all__ = [
    "call_when_idle",
    "in_own_thread",
    "in_threads",
    "paying_threads",
    "start_threads",
    "thread_count",
    "unhindered",
]

# In neighbors that are found meanwhile, 70 ns each:
_START = 350  # of one of SciPy's threads
_HANDOVER = 3000  # of a search to a thread of our own, and back
IDLE = 10.0  # seconds without a search after which what was kept for the next one is let go


class _Call:
    """A call that one of our threads makes, and the wait for it.

    The wait is one function of C: a signal there raises KeyboardInterrupt. `concurrent.futures` waits by
    Python's conditions, of which a signal at the wrong moment releases a lock that is not held.
    """

    unfinished: ClassVar[set["_Call"]] = set()

    def __init__(self, function: Callable):
        self.function = function
        self.is_wanted = True
        self.outcome: queue.SimpleQueue = queue.SimpleQueue()

    def make(self) -> None:
        """Call the function, in one of our threads."""
        value = error = None
        _Call.unfinished.add(self)
        try:
            if self.is_wanted:
                value = self.function()
        except BaseException as raised:
            error = raised
        _Call.unfinished.discard(self)
        self.outcome.put((value, error))

    def result(self):
        """Wait for the call, and return or raise what it did."""
        try:
            start_threads().put(self.make)
            value, error = self.outcome.get()
        except BaseException:
            self.is_wanted = False
            raise
        if error is not None:
            raise error
        return value


def unhindered(search: Callable, *arguments, workers: int, **options):
    """Call a search of SciPy's with so many `workers`; Ctrl-C frees nothing that they read.

    Signals interrupt the main thread only, for which a thread of our own calls it.
    """
    if workers == 1 or threading.current_thread() is not threading.main_thread():
        return search(*arguments, workers=workers, **options)
    return _Call(functools.partial(search, *arguments, workers=workers, **options)).result()


def in_own_thread(function: Callable):
    """Return what a function returns in a thread of our own."""
    return _Call(function).result()


@atexit.register
def _wait_for_threads() -> None:
    """Wait for the searches that Ctrl-C has left running."""
    while _Call.unfinished:
        time.sleep(0.001)


_when_idle: list[Callable[[float], None]] = []


def call_when_idle(function: Callable[[float], None]) -> Callable[[float], None]:
    """Have each thread that got nothing to do for `IDLE` seconds call a function with their number."""
    _when_idle.append(function)
    return function


@functools.cache
def start_threads() -> queue.SimpleQueue:
    """Return where our threads take functions from; to be called outside of XLA's threads first."""
    functions: queue.SimpleQueue = queue.SimpleQueue()

    def work():
        idle = False
        while True:
            try:
                function = functions.get(timeout=None if idle else IDLE)
            except queue.Empty:
                for function_when_idle in _when_idle:
                    function_when_idle(IDLE)
                idle = True
                continue
            idle = False
            function()
            del function

    for _ in range(min(os.cpu_count() or 1, 16)):  # others wait: a search uses all cores
        threading.Thread(target=work, daemon=True).start()
    return functions


def _forget_threads() -> None:
    start_threads.cache_clear()
    _Call.unfinished.clear()


if hasattr(os, "register_at_fork"):  # which takes over no threads
    os.register_at_fork(after_in_child=_forget_threads)


def in_threads(function: Callable, parts: list, threads: int) -> None:
    """Call a function with each of the parts."""
    if threads <= 1 or len(parts) <= 1:
        for part in parts:
            function(part)
        return
    pool = ThreadPoolExecutor(min(threads, len(parts)))

    def call_with_all(*, workers: int) -> None:
        list(pool.map(function, parts))

    try:
        unhindered(call_with_all, workers=threads)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def thread_count(workers: int | None, queries: int, width: int) -> int:
    """Return how many threads are to search; None: as many as pay, -1: all cores."""
    if workers is not None and workers > 0:
        return workers
    if workers is None:
        paying = paying_threads(queries, width)
        if paying == 1:
            return 1
        has_affinity = hasattr(os, "sched_getaffinity")
        available = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
        threads = min(available, paying)
        saved = queries * (width + 5) * (threads - 1) // threads - threads * _START
        return threads if saved > _HANDOVER else 1
    cores = os.cpu_count()
    if cores is None:
        raise NotImplementedError("Cannot determine the number of cores: pass workers as a number")
    return cores


def paying_threads(queries: int, width: int) -> int:
    """Return with how many threads a search for `width` neighbors takes the least time.

    The start of a thread takes as long as the search for some neighbors, a query as that for 5 more: the sum
    is least where starting takes as long as searching.
    """
    return max(1, math.isqrt(queries * (width + 5) // _START))
