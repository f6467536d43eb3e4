"""PyTorch is loaded by `jaxapi.torch` alone, and memory is shared with it."""

import subprocess
import sys

import pytest


def test_nothing_else_loads_pytorch():
    code = """
import sys
import jaxapi, jaxapi.numpy, jaxapi.mutable, jaxapi.interpolate
import jaxapi.spatial.distance
jaxapi.spatial.KDTree([[0.0]]).query([1.0])
assert "torch" not in sys.modules
assert "jaxapi.torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_memory_is_shared():
    torch = pytest.importorskip("torch")
    from jaxapi.torch import _tensors

    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int64):
        tensor = torch.ones(1000, 3, dtype=dtype)
        array = _tensors.as_shared_array(tensor.requires_grad_(tensor.is_floating_point()))
        assert array.unsafe_buffer_pointer() == tensor.data_ptr()
        assert _tensors.as_tensor(array).data_ptr() == tensor.data_ptr()
        assert _tensors.as_tensor(array).dtype == dtype


def test_docstrings():
    doctest = pytest.importorskip("doctest")
    pytest.importorskip("torch")
    from jaxapi.torch import _clusters, _distance, _graphs, _interpolate, _kdtree

    for module in (_clusters, _distance, _graphs, _interpolate, _kdtree):
        report = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
        assert report.attempted
        assert not report.failed
