"""What XLA compiles while a test runs."""

import contextlib

import jax

__all__ = ["no_compilation"]


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
