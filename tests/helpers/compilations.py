"""What XLA compiles while a test runs."""

import contextlib

import jax

__all__ = ["no_compilation", "results_of_new_lengths"]


@contextlib.contextmanager
def no_compilation():
    """Fail where XLA compiles anything."""
    compiled = []

    def note(event, duration, **_):
        if event.endswith("backend_compile_duration"):
            compiled.append(event)

    jax.monitoring.register_event_duration_secs_listener(note)
    try:
        yield
    finally:
        jax.monitoring.unregister_event_duration_listener(note)
    assert not compiled


def results_of_new_lengths(run, first, then):
    """Return what ``run(length)`` gives of the lengths `then`, which compile nothing after `first`."""
    for length in first:
        run(length)
    with no_compilation():
        return [run(length) for length in then]
