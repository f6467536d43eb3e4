"""Tensors on an NVIDIA GPU: the answers of the CPU, on their device, in the order of PyTorch's stream."""

import jax
import numpy as np
import pytest

torch = pytest.importorskip("torch")

import jaxapi.torch as near  # noqa: E402
from jaxapi.torch import _tensors  # noqa: E402

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def both_have_a_gpu():
    if not torch.cuda.is_available() or jax.default_backend() != "gpu":
        pytest.skip("needs PyTorch and JAX with CUDA")
    torch.manual_seed(7)


def clouds(n=2000, count=5):
    """Return points of whole numbers, whose distances are exact, and the ids of their clouds."""
    return torch.randint(0, 20, (n, 3)).float(), torch.randint(0, count, (n,)).sort().values


CALLS = {
    "knn": lambda x, batch: near.knn(x, x[:100], 5, batch, batch[:100]),
    "knn of one cloud": lambda x, batch: near.knn(x, x[:100], 5),
    "knn_graph": lambda x, batch: near.knn_graph(x, 5, batch),
    "radius": lambda x, batch: near.radius(x, x[:100], 3.0, batch, batch[:100]),
    "radius of few": lambda x, batch: near.radius(x, x[:100], 3.0, batch, batch[:100], 4),
    "radius_graph": lambda x, batch: near.radius_graph(x, 3.0, batch),
    "radius_graph of one cloud": lambda x, batch: near.radius_graph(x, 3.0),
    "nearest": lambda x, batch: near.nearest(x + 0.25, x, batch, batch),
    "fps": lambda x, batch: near.fps(x, batch, 0.1, random_start=False),
    "fps of one cloud": lambda x, batch: near.fps(x, ratio=0.1, random_start=False),
    "dbscan": lambda x, batch: near.dbscan(x, 2.0).labels,
    "distances": lambda x, batch: near.KDTree(x).kneighbors(3)[0],
    "cdist": lambda x, batch: near.cdist(x[:50], x),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_answers_of_the_cpu(call):
    x, batch = clouds()
    right = call(x, batch)
    found = call(x.cuda(), batch.cuda())
    assert found.device.type == "cuda"
    assert found.dtype == right.dtype
    found = found.cpu()
    if right.ndim == 2 and right.dtype == torch.int64:  # edges of a query in any order
        right, found = (edges[:, torch.argsort(edges[0] * 10**6 + edges[1])] for edges in (right, found))
    torch.testing.assert_close(found, right, rtol=1e-6, atol=0)


def test_memory_of_arguments_is_shared():
    tensor = torch.ones(1000, 3, device="cuda")
    array = _tensors.as_shared_array(tensor)
    assert array.unsafe_buffer_pointer() == tensor.data_ptr()


def test_a_result_is_read_before_its_memory_is_used_again():
    """JAX uses memory that no one holds at once; PyTorch's stream is late."""
    size = 1 << 22
    factors = torch.rand(6000, 6000, device="cuda")
    torch.cuda.synchronize()
    for is_late in (False, True):
        array = jax.numpy.arange(size, dtype=np.int32)
        tensor = None if is_late else _tensors.as_tensor(array)
        for _ in range(20):
            factors = (factors @ factors).clamp_(0, 1)
        tensor = _tensors.as_tensor(array) if is_late else tensor
        del array
        found = tensor + 1
        del tensor
        for number in range(8):
            jax.numpy.full(size, -number, np.int32).block_until_ready()
        assert (found == torch.arange(1, size + 1, device="cuda")).all()


@pytest.mark.parametrize("on_own_stream", [False, True])
def test_pending_work_is_waited_for(on_own_stream):
    x, batch = clouds()
    right = near.radius_graph(x, 3.0, batch)
    x, batch = x.cuda(), batch.cuda()
    large = torch.rand(4000, 4000, device="cuda")
    torch.cuda.synchronize()
    stream = torch.cuda.Stream() if on_own_stream else torch.cuda.current_stream()
    with torch.cuda.stream(stream):
        for _ in range(10):
            late = x + 0 * (large @ large @ large)[0, 0]
            found = near.radius_graph(late, 3.0, batch)
            late.zero_()  # behind the search
            assert found.shape == right.shape
            assert (found[1] == right[1].cuda()).all()


def test_derivatives():
    slopes = []
    for device in ("cpu", "cuda"):
        x = clouds()[0].to(device).requires_grad_()
        torch.manual_seed(7)
        distances = near.KDTree(x).radius_graph(2.5).distances
        (slope,) = torch.autograd.grad((distances**3).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad((slope**2).sum(), x)
        slopes.append(second.cpu())
    torch.testing.assert_close(slopes[1], slopes[0], rtol=1e-4, atol=1e-2)


def test_derivatives_by_jax():
    slopes = []
    x = torch.rand(30, 3, dtype=torch.float64)
    for device in ("cpu", "cuda"):
        points = x.to(device).requires_grad_()
        (slope,) = torch.autograd.grad(near.cdist(points, points[:5]).sum(), points)
        slopes.append(slope.cpu())
    torch.testing.assert_close(slopes[1], slopes[0])
