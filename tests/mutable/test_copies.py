"""Copies, and what is assigned whole: nobody else's memory."""

import copy

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi.mutable as xp

COPIES = {
    "copy": copy.copy, "deepcopy": copy.deepcopy, "x.copy()": lambda x: x.copy(),
    "asarray": lambda x: xp.asarray(x, copy=True), "astype": lambda x: xp.astype(x, x.dtype),
    "a mask": lambda x: x[xp.asarray(np.ones(len(x), bool))], "an element": lambda x: x[3],
    "positive": lambda x: +x, "trunc": lambda x: xp.trunc(xp.astype(x, xp.int32)),
    "a copy's copy": lambda x: copy.copy(copy.copy(x)), "a view's copy": lambda x: copy.copy(x[:]),
}  # fmt: skip


@pytest.fixture
def size():
    """Take the sizes as they are."""


# Lets JAX have the memory of an array.
spend = jax.jit(lambda x: x + 1, donate_argnums=0)


@pytest.mark.parametrize("made", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize(("n", "was_handed_out"), [(5, False), (50_000, False), (50_000, True)])
def test_donation_spends_one(made, n, was_handed_out):
    host = np.arange(n, dtype=np.float32)
    x = xp.asarray(host, copy=True)
    if was_handed_out:
        jnp.asarray(x)
    y = made(x)
    expected = np.array(y)
    spend(x)
    np.testing.assert_array_equal(y, expected)
    again = made(y) if y.ndim else copy.copy(y)
    spend(y)
    np.testing.assert_array_equal(again, np.array(expected))


@pytest.mark.parametrize("made", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("n", [5, 50_000])
def test_a_copy_that_is_spent_leaves_the_others(made, n):
    host = np.arange(n, dtype=np.float32)
    x = xp.asarray(host, copy=True)
    others = [made(x) for _ in range(3)]
    expected = np.array(others[0])
    spend(others.pop(0))
    spend(others.pop())
    np.testing.assert_array_equal(x, host)
    np.testing.assert_array_equal(others[0], expected)


@pytest.mark.parametrize("function", [xp.trunc, xp.floor, xp.ceil, xp.round, xp.positive])
def test_what_rounding_of_ints_returns_is_apart(function):
    x = xp.asarray([1, 2, 3])
    y, again = function(x), function(x)
    spend(y)
    np.testing.assert_array_equal(x, [1, 2, 3])
    x += 1
    np.testing.assert_array_equal(again, [1, 2, 3])


@pytest.mark.parametrize("made", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("part", [lambda x: x, lambda x: x[1:], lambda x: x[:]])
def test_copies_outlive_what_others_got_before(made, part):
    x = xp.asarray(np.arange(50_000, dtype=np.float32))
    source = part(x)
    others = jnp.asarray(source), jnp.asarray(x)
    y = made(source)
    expected = np.array(y)
    for value in others:
        if not value.is_deleted():
            spend(value)
    np.testing.assert_array_equal(y, expected)


WHOLE = {
    "...": lambda x: ...,
    ":": lambda x: slice(None),
    "a mask": lambda x: x == x,
    "backward": lambda x: slice(None, None, -1),
}


@pytest.mark.parametrize("key", WHOLE.values(), ids=WHOLE)
@pytest.mark.parametrize("n", [5, 50_000])
def test_what_is_assigned_whole_is_apart(key, n):
    host = np.arange(n, dtype=np.float32)
    x, y, before = xp.zeros(n, dtype=xp.float32), xp.asarray(host), xp.zeros(n, dtype=xp.float32)
    key = key(x)
    x[key]  # a mask is known when it was read
    view = x[1:]
    x[key] = y
    expected = np.empty(n, np.float32)
    expected[np.asarray(key) if isinstance(key, xp.Array) else key] = host
    np.testing.assert_array_equal(view, expected[1:])
    y[0] = -1
    y += 1
    np.testing.assert_array_equal(x, expected)
    spend(y)
    x[1] = -2
    expected[1] = -2
    np.testing.assert_array_equal(x, expected)
    spend(x)
    np.testing.assert_array_equal(before, np.zeros(n))


def test_assigned_whole_by_another_dtype_or_memory_of_others():
    x = xp.zeros(3, dtype=xp.float32)
    x[...] = xp.asarray([1, 2, 3])
    assert x.dtype == np.float32
    y = xp.asarray(np.ones(3, np.float32))
    others = jnp.asarray(y)
    x[:] = y
    spend(others)
    np.testing.assert_array_equal(x, np.ones(3))
    with pytest.raises(ValueError, match="broadcast"):
        x[...] = xp.zeros(2)


def test_what_is_assigned_whole_keeps_its_type_and_device():
    x, mask = xp.zeros(3, dtype=xp.float32), xp.asarray([True, False, True])
    x[...] = xp.where(mask, 1.0, 2.0)  # of Python's numbers alone: weakly typed
    assert (x + xp.asarray(np.ones(3, np.float16))).dtype == np.float32
    bound = xp.asarray(np.zeros(3, np.float32), device=jax.devices()[0])
    bound[...] = x * 3
    assert bound._value.committed == (len(jax.devices()) > 1)  # to its device, if there are others, as before
    np.testing.assert_array_equal(bound, [3, 6, 3])


def test_what_is_assigned_whole_outlives_its_source():
    x, y = xp.zeros(3, dtype=xp.float32), xp.asarray([1, 2, 3], dtype=xp.float32) * 2
    x[...] = y
    spend(y)
    np.testing.assert_array_equal(x, [2, 4, 6])


@pytest.mark.parametrize("n", [5, 50_000])
def test_moved_to_where_it_is(n):
    """A sharding over the array's own device moves nothing, and memory may be shared."""
    host = np.arange(n, dtype=np.float32)
    there = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    for move in (
        lambda x: x.to_device(there),
        lambda x: xp.asarray(x, device=there),
        lambda x: xp.astype(x, x.dtype, device=there),
    ):
        x = xp.asarray(host, copy=True)
        element = x[1]
        y = move(x)
        x[0] = -1
        np.testing.assert_array_equal(y, host)
        y[2] = -2
        np.testing.assert_array_equal(x, [-1, *host[1:]])
        spend(y)
        np.testing.assert_array_equal(x, [-1, *host[1:]])
        assert float(element) == 1


def test_what_is_exported_is_apart_from_copies():
    """Who gets the memory may write to it."""
    x = xp.asarray(np.arange(5, dtype=np.float32), device=jax.devices("cpu")[0])
    y = copy.copy(x)
    exported = np.from_dlpack(x)
    assert exported.ctypes.data == x._value.unsafe_buffer_pointer()
    assert exported.ctypes.data != y._value.unsafe_buffer_pointer()
    np.testing.assert_array_equal(y, exported)


@pytest.mark.parametrize(
    ("version", "shares"), [(None, False), ((0, 8), False), ((1, 0), True), ((1, 1), True)]
)
def test_only_who_can_be_told_not_to_write_shares_memory(version, shares):
    x = xp.asarray(np.arange(5, dtype=np.float32), device=jax.devices("cpu")[0])

    class Consumed:
        __dlpack_device__ = x.__dlpack_device__

        def __dlpack__(self, **options):
            return x.__dlpack__(**{**options, "max_version": version})

    exported = np.from_dlpack(Consumed())
    assert (exported.ctypes.data == x._value.unsafe_buffer_pointer()) == shares
    np.testing.assert_array_equal(exported, x)


@pytest.mark.parametrize("n", [5, 50_000])
def test_donation_spends_one_of_two_assigned_whole(n):
    host = np.arange(n, dtype=np.float32)
    for first, second in ((0, 1), (1, 0)):
        arrays = xp.zeros(n, dtype=xp.float32), xp.asarray(host)
        arrays[0][...] = arrays[1]
        spend(arrays[first])
        np.testing.assert_array_equal(arrays[second], host)
        view = arrays[second][1:]
        arrays[second][...] = xp.asarray(host) * 2
        spend(view)
        np.testing.assert_array_equal(arrays[second], 2 * host)


def test_a_view_assigned_whole_writes_to_its_owner():
    x = xp.zeros((2, 3), dtype=xp.float32)
    x[1][...] = xp.asarray(np.ones(3, np.float32))
    xp.reshape(x, (6,))[2:4][:] = xp.asarray(np.full(2, 5, np.float32))
    x.T[...] = x.T + 1
    np.testing.assert_array_equal(x, [[1, 1, 6], [6, 2, 2]])


def test_assigned_whole_nothing_but_the_values_changes():
    x, y = xp.zeros((), dtype=xp.float32), xp.asarray(jnp.asarray(2.0)) + 1
    x[...] = y
    assert float(x) == 3
    assert not x._value.weak_type
    x = xp.asarray(jax.device_put(np.zeros(3, np.float32), jax.devices()[0])) + 1
    y = xp.asarray(np.ones(3, np.float32))
    assert (x._value.committed, y._value.committed) == (True, False)
    x[...] = y
    assert x._value.committed


def test_assigning_what_lies_on_another_device():
    first, other = jax.devices()[0], jax.devices()[-1]
    if other == first:
        pytest.skip("one device here")
    x, y = [xp.asarray(jax.device_put(np.ones(3, np.float32), device)) + 1 for device in (first, other)]
    with pytest.raises(ValueError, match="device"):
        x[...] = y
    assert x.device == first


def test_a_view_that_is_spent_leaves_its_copies():
    x = xp.asarray(np.arange(12.0, dtype=np.float32).reshape(3, 4))
    for view in (x[1:], x.T, x[:]):
        y = copy.copy(view)
        expected = np.array(y)
        if view.shape != x.shape:
            spend(view)
        view[0] = -1
        np.testing.assert_array_equal(y, expected)


def test_copies_of_reshaped_arrays_are_apart():
    x = xp.asarray(np.arange(6.0, dtype=np.float32))
    column = xp.reshape(x, (3, 2))
    copy, cast = column.copy(), xp.astype(column, xp.float32)
    copy[0, 0] = 50
    x[1] = 7
    np.testing.assert_array_equal(column, [[0, 7], [2, 3], [4, 5]])
    np.testing.assert_array_equal(copy, [[50, 1], [2, 3], [4, 5]])
    np.testing.assert_array_equal(cast, [[0, 1], [2, 3], [4, 5]])
    np.testing.assert_array_equal(column.T.copy(), column.T)


def test_arrays_made_of_numpys_do_not_share_their_memory():
    host = np.arange(1000.0, dtype=np.float32)
    x = xp.asarray(host)
    host[:] = 0
    x[0] = 5
    np.testing.assert_array_equal(x[:3], [5, 1, 2])
    assert host[0] == 0


@pytest.mark.parametrize("watching", [jax.debug_nans, jax.debug_infs, jax.disable_jit])
def test_what_jax_is_given_is_no_result_of_a_program(watching):
    x = xp.asarray([1.0, 2.0, 3.0])
    x[1:] = [np.nan, np.inf]
    with watching(True):
        np.testing.assert_array_equal(xp.isfinite(x), [True, False, False])
        value = jnp.asarray(x)
    assert isinstance(value, jax.Array)
    x[0] = 7
    np.testing.assert_array_equal(value, [1, np.nan, np.inf])


@pytest.mark.parametrize("options", [{}, {"max_version": (1, 0)}, {"copy": False}])
def test_dlpack_of_the_host_has_no_other_device(options):
    import jaxapi.numpy

    if jax.devices()[0].platform != "cpu":
        pytest.skip("arrays are on a device")
    for module in (xp, jaxapi.numpy):
        x = module.arange(4)
        for wrong in ({"dl_device": (2, 0)}, {"dl_device": (10, 0)}, {"stream": 1}, {"stream": -1}):
            with pytest.raises(BufferError, match="host's memory"):
                x.__dlpack__(**options, **wrong)
        assert x.__dlpack__(**options, dl_device=(1, 0), stream=None) is not None


PARTS = {
    "all": lambda x: x, "every second": lambda x: x[::2], "behind the first": lambda x: x[1:],
    "up to a number": lambda x: x[:40], "reversed": lambda x: x[::-1],
    "transposed": lambda x: x.reshape(10, 10).T, "a column": lambda x: x.reshape(10, 10)[:, 2],
    "a copy": lambda x: x[:40].copy(), "a mask": lambda x: x[x > 50],
}  # fmt: skip


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("version", [None, (1, 0)])
def test_no_copy_where_none_is_allowed(part, version, way):
    """DLPack's and NumPy's ``copy=False``: memory that is shared, or an error."""
    import jaxapi.numpy

    if jax.devices()[0].platform != "cpu":
        pytest.skip("arrays are on a device")
    for module in (xp, jaxapi.numpy):
        x = part(module.asarray(np.arange(100, dtype=np.float32)))
        before = np.array(x)

        class Consumed:
            __dlpack_device__ = x.__dlpack_device__

            def __dlpack__(self, x=x, **options):
                return x.__dlpack__(max_version=version, copy=False)

        exports = {BufferError: lambda: np.from_dlpack(Consumed())}
        exports[ValueError] = lambda: np.asarray(x, copy=False)  # noqa: B023
        for error, export in exports.items():
            try:
                exported = export()
            except error:
                assert way == "jaxs"  # where values are copied out of buffers
                continue
            np.testing.assert_array_equal(exported, before)
            if way == "numpys":
                assert np.shares_memory(exported, np.asarray(x))
            else:
                assert exported.ctypes.data == x._memory.unsafe_buffer_pointer()


def test_what_is_exported_without_a_copy_keeps_who_may_write(way):
    import jaxapi.numpy

    if way != "numpys":
        pytest.skip("JAX's arrays are read-only")
    x = jaxapi.numpy.arange(4)
    x.flags.writeable = False
    assert not np.from_dlpack(x, copy=False).flags.writeable
    with pytest.raises(BufferError):
        x.__dlpack__(copy=False)
    y = jaxapi.numpy.arange(4)
    np.from_dlpack(y, copy=False)[0] = 9
    assert y[0] == 9


TAKEN = {
    "whole": lambda host: host,
    "unaligned": lambda host: host[1:],
    "with gaps": lambda host: host[::3],
    "backwards": lambda host: host[::-1],
    "transposed": lambda host: host.reshape(5, 8).T,
}


@pytest.mark.parametrize("part", TAKEN.values(), ids=TAKEN)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "complex64", "bool"])
def test_no_copy_of_what_is_taken_where_none_is_allowed(part, dtype, way):
    """In the host's memory what both write is seen by both; elsewhere memory is shared until a write."""
    import jaxapi.numpy

    for module in (xp, jaxapi.numpy):
        for take in (module.from_dlpack, module.asarray):
            host = part(np.arange(40).astype(dtype))
            try:
                x = take(host, copy=False)
            except (BufferError, ValueError):
                assert way == "jaxs"  # JAX shares what is aligned and without gaps
                continue
            assert x.dtype == host.dtype
            if way == "jaxs":
                assert x._memory.unsafe_buffer_pointer() == host.ctypes.data
                continue
            host[0] = True
            np.testing.assert_array_equal(x[0], host[0])
            x[...] = 0
            assert not host.any()


@pytest.mark.skipif(jax.devices()[0].platform != "cpu", reason="NumPy reads no other memory")
def test_exported_copies_may_be_written_to():
    import jaxapi.numpy

    for module in (xp, jaxapi.numpy):
        x = module.asarray(np.arange(100, dtype=np.float32))
        exported = np.from_dlpack(x, copy=True)
        exported[0] = 9
        assert x[0] == 0
