"""The CUDA engine's compilation, without a GPU: what NVRTC makes of the sources, and what is kept of it."""

import math
import os
import re
import shutil
import subprocess
import types

import cuda_host
import jax
import numpy as np
import pytest
from cuda_host import kept

from jaxapi.spatial._engines import _choice
from jaxapi.spatial._engines._cuda import _compile, _launch
from jaxapi.spatial._engines._cuda._launch import Kernel

F32, F64 = np.float32, np.float64


@pytest.fixture
def nvrtc(monkeypatch, tmp_path):
    """Compile into an empty cache."""
    try:
        binding = _compile.nvrtc()
    except ImportError as error:
        pytest.skip(str(error))
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path))
    _compile.compiled.cache_clear()
    yield binding
    _compile.compiled.cache_clear()


KERNELS = [
    (Kernel.of("bounds", m=3, dtype=F32, cores=1), "90"),
    (Kernel.of("boxes", m=16, dtype=F64), "75"),
    (Kernel.of("boxes", m=3, dtype=F32), "90"),
    (Kernel.of("extent", m=16, dtype=F64), "75"),
    (Kernel.of("firsts", m=3, dtype=F32), "90"),
    (Kernel.of("gather", m=3, dtype=F32), "75"),
    (Kernel.of("gather", m=8, dtype=F64), "80"),
    (Kernel.of("gather", m=16, dtype=F32), "100"),
    (Kernel.of("hooks", m=3, dtype=F32), "75"),
    (Kernel.of("in_units", m=1, dtype=F64, p=3), "75"),
    (Kernel.of("join", m=3, dtype=F32, periodic=True, warps=2, relation=2), "75"),
    (Kernel.of("join", m=8, dtype=F64, warps=2, relation=2), "90"),
    (Kernel.of("keys", m=16, dtype=F64), "90"),
    (Kernel.of("lined", m=3, dtype=F32), "90"),
    (
        Kernel.of("lines", m=1, dtype=F64, **{"from": "float", "to": "double", "from_half": 0, "missing": 0}),
        "75",
    ),
    (
        Kernel.of(
            "lines",
            m=1,
            dtype=F32,
            **{"from": "unsigned short", "to": "float", "from_half": 11, "missing": 0},
        ),
        "90",
    ),
    (Kernel.of("split", m=3, dtype=F32, room=4096, threads=512), "75"),
    (Kernel.of("split", m=3, dtype=F32, room=4096, threads=512), "90"),
    (Kernel.of("split", m=3, dtype=F64, room=4096, threads=512), "80"),
    (Kernel.of("split", m=16, dtype=F64, room=2048, threads=256), "90"),
    (Kernel.of("lowest", m=3, dtype=F32, warps=2, relation=0), "90"),
    (Kernel.of("nodes", m=3, dtype=F32, periodic=True), "75"),
    (Kernel.of("order", m=16, dtype=F64), "75"),
    (Kernel.of("others", m=3, dtype=F32, cores=0, warps=2), "90"),
    (Kernel.of("others", m=3, dtype=F32, cores=1, warps=2), "75"),
    (Kernel.of("others", m=16, dtype=F64, p=3, periodic=True, cores=1, warps=2), "90"),
    (Kernel.of("packets", m=3, dtype=F32, k=1, warps=2), "75"),
    (Kernel.of("packets", m=2, dtype=F32, k=8, warps=2), "80"),
    (Kernel.of("packets", m=3, dtype=F32, k=8, warps=2), "90"),
    (Kernel.of("packets", m=4, dtype=F32, k=8, warps=2), "80"),
    (Kernel.of("packets", m=3, dtype=F32, k=32, warps=2), "90"),
    (Kernel.of("packets", m=3, dtype=F32, k=32, warps=2), "100"),
    (Kernel.of("packets", m=3, dtype=F32, k=32, warps=2), "75"),
    (Kernel.of("packets", m=3, dtype=F64, k=1, warps=2), "75"),
    (Kernel.of("packets", m=3, dtype=F64, k=8, warps=2), "90"),
    (Kernel.of("packets", m=3, dtype=F64, k=32, warps=2), "90"),
    (Kernel.of("packets", m=3, dtype=F32, p=math.inf, periodic=True, k=20, warps=2), "80"),
    (Kernel.of("picks", m=3, dtype=F64), "75"),
    (Kernel.of("roots", m=3, dtype=F64), "75"),
    (Kernel.of("singles", m=3, dtype=F32, k=32, floor=0, warps=4), "75"),
    (Kernel.of("singles", m=16, dtype=F32, k=8, floor=0, warps=4), "90"),
    (Kernel.of("singles", m=3, dtype=F32, k=100, floor=0, warps=4), "80"),
    (Kernel.of("count", m=3, dtype=F32, relation=0, warps=2), "100"),
    (Kernel.of("fill", m=3, dtype=F32, relation=0, wide=0, writes=0, warps=2), "75"),
    (Kernel.of("fill", m=3, dtype=F32, relation=1, wide=0, writes=1, warps=2), "90"),
    (Kernel.of("fill", m=3, dtype=F32, relation=2, wide=1, writes=2, warps=2), "80"),
    (Kernel.of("sums", m=1, dtype=F32, blocks=1), "75"),
    (Kernel.of("sums", m=1, dtype=F32, blocks=0), "90"),
    (Kernel.of("uniform", m=3, dtype=F32), "75"),
    (Kernel.of("pairwise", m=1, dtype=F32, term=0, weighted=0), "75"),
    (Kernel.of("pairwise", m=1, dtype=F32, term=0, weighted=0), "90"),
    (Kernel.of("pairwise", m=1, dtype=F32, term=2, weighted=1), "90"),
    (Kernel.of("pairwise", m=1, dtype=F64, term=1, weighted=1), "90"),
    (Kernel.of("wholes", m=3, dtype=F32), "90"),
    (Kernel.of("wholes", m=16, dtype=F64, periodic=True), "75"),
    (Kernel.of("within", m=3, dtype=F32, relation=0, warps=2), "75"),
    (Kernel.of("sorted", m=1, dtype=F32, k=256, warps=4), "90"),
    (Kernel.of("bins", m=3, dtype=F32, relation=0, weight="int", bins=20, warps=2), "90"),
    (Kernel.of("rough", m=64, dtype=F64), "80"),
    (Kernel.of("candidates", m=17, dtype=F32, warps=8), "80"),
    (Kernel.of("candidates", m=200, dtype=F32, warps=8), "90"),
    (Kernel.of("candidates", m=64, dtype=F32, warps=8), "100"),
    (Kernel.of("closest", m=64, dtype=F32, k=8, warps=4), "90"),
    (Kernel.of("wholes", m=3, dtype=F32, p=2.0, periodic=True), "75"),
    (Kernel.of("wholes", m=16, dtype=F64, p=3.0), "90"),
]


def log_of(nvrtc, name, options, behind=""):
    """Return what the compiler says, which the next run reads: it depends on nothing else."""
    parts = repr([name, options, nvrtc.nvrtcVersion(), _compile.sources(), behind])
    written = kept(parts, ".log")
    if not written.exists():
        program = _compile.built(name, options, behind)
        fresh = written.with_suffix(f".{os.getpid()}")
        fresh.write_text(_compile.log(program))
        nvrtc.nvrtcDestroyProgram(program)
        os.replace(fresh, written)
    return written.read_text()


def options_of(nvrtc, architecture, macros):
    """Return the options with which the log says what registers a kernel needs."""
    options = [*_compile.OPTIONS, *_compile.defines(macros), "--ptxas-options=-v"]
    options.append(f"--gpu-architecture=sm_{architecture}")
    if nvrtc.nvrtcVersion()[1:] >= (12, 9):
        options.append("--no-cache")  # what is kept has no log
    return options


@pytest.mark.thorough
@pytest.mark.daily("-90")
@pytest.mark.kernels
@pytest.mark.parametrize(("kernel", "architecture"), KERNELS, ids=lambda each: getattr(each, "name", each))
def test_compiles_without_spilling_registers(kernel, architecture, nvrtc):
    """For GPUs of all generations; lists of up to 32 neighbours stay in registers."""
    log = log_of(nvrtc, kernel.name, options_of(nvrtc, architecture, kernel.macros))
    assert "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in log, log


def parameters_of(ptx, name):
    """Return how many pointers a kernel takes."""
    (entry,) = re.findall(r"\.visible \.entry (\w+)\(([^)]*)\)", ptx)
    assert entry[0] == name
    return entry[1].count(".param .u64")


FIRST_OF_EACH_NAME = {kernel.name: (kernel, architecture) for kernel, architecture in reversed(KERNELS)}


@pytest.mark.thorough
@pytest.mark.daily("split")
@pytest.mark.kernels
@pytest.mark.parametrize("name", sorted(FIRST_OF_EACH_NAME))
def test_kernels_of_batches_compile(name, nvrtc, monkeypatch):
    """For vmapped trees: each takes all arrays of the kernel, and where items are; in registers, too."""
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(kept("", "").parent))  # for the next run
    kernel, architecture = FIRST_OF_EACH_NAME[name]
    arrays = parameters_of(_compile.compiled(name, architecture, kernel.macros), name)
    operands = _compile.Operands(inputs=arrays - 1, outputs=1)
    ptx = _compile.compiled(name, architecture, kernel.macros, operands)
    assert parameters_of(ptx, _compile.entry_name(name)) == arrays + 1
    options = options_of(nvrtc, architecture, (*kernel.macros, ("ITEMS", "1")))
    log = log_of(nvrtc, name, options, _compile.entry(name, operands))
    assert "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in log, log


def test_every_kernel_is_compiled_here():
    names = {file.removesuffix(".cu") for file in _compile.sources() if file.endswith(".cu")}
    assert set(FIRST_OF_EACH_NAME) == names


def test_batches_of_arrays_that_a_kernel_does_not_take_raise(nvrtc):
    kernel = Kernel.of("nodes", m=2, dtype=F32)
    arrays = parameters_of(_compile.compiled("nodes", "90", kernel.macros), "nodes")
    with pytest.raises(RuntimeError, match=r"NVRTC does not compile nodes\.cu"):
        _compile.compiled("nodes", "90", kernel.macros, _compile.Operands(arrays, 1))


@pytest.mark.parametrize("kernel", [Kernel.of("singles", m=3, dtype=F64, p=1.5, k=1024, floor=1, warps=4)])
def test_compiles_for_many_neighbours_in_float64(kernel, nvrtc):
    assert ".visible .entry singles" in _compile.compiled(kernel.name, "80", kernel.macros)


def test_ptx_is_kept_by_sources_options_and_versions(nvrtc, monkeypatch, tmp_path):
    kernel = Kernel.of("nodes", m=2, dtype=F32)
    ptx = _compile.compiled(kernel.name, "90", kernel.macros)
    assert ".version 7.8\n" in ptx, "no newer than the architecture needs"
    (kept,) = tmp_path.glob("*/*")
    assert kept.read_text() == ptx
    _compile.compiled.cache_clear()
    monkeypatch.setattr(_compile, "built", None)  # nothing is compiled again
    assert _compile.compiled(kernel.name, "90", kernel.macros) == ptx
    monkeypatch.undo()
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path))
    _compile.compiled(kernel.name, "80", kernel.macros)
    changed = {**_compile.sources(), "metric.cuh": _compile.sources()["metric.cuh"] + b"\n"}
    monkeypatch.setattr(_compile, "sources", lambda: changed)
    _compile.compiled.cache_clear()
    _compile.compiled(kernel.name, "90", kernel.macros)
    assert len(list(tmp_path.glob("*/*"))) == 3


def test_hints_that_old_ptx_does_not_know_are_left_out():
    text = (
        '.version 9.0\n.target sm_90\n{\n\t.pragma "used_bytes_mask 4095";\n\tld.global.v4.f32 \t{%f1};\n}\n'
    )
    assert (
        _compile._with_version(text, "90")
        == ".version 7.8\n.target sm_90\n{\n\tld.global.v4.f32 \t{%f1};\n}\n"
    )
    assert _compile._with_version(text, "200") == text


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="no assembler of PTX")
@pytest.mark.parametrize("architecture", ["75", "80", "90"])
@pytest.mark.parametrize("name", ["gather", "nodes", "order"])
def test_ptx_of_an_old_version_can_be_assembled(name, architecture, nvrtc, tmp_path):
    kernel, written = Kernel.of(name, m=3, dtype=F32), tmp_path / "kernel.ptx"
    written.write_text(_compile.compiled(name, architecture, kernel.macros))
    subprocess.run(["ptxas", f"-arch=sm_{architecture}", written, "-o", tmp_path / "out"], check=True)


def test_compiles_where_nothing_can_be_kept(nvrtc, monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(blocked))
    kernel = Kernel.of("nodes", m=2, dtype=F32)
    assert ".visible .entry nodes" in _compile.compiled(kernel.name, "90", kernel.macros)


def test_an_error_says_what_the_compiler_says(nvrtc):
    with pytest.raises(RuntimeError, match=r"NVRTC does not compile nodes\.cu.*\n.*DIMENSIONS"):
        _compile.compiled("nodes", "90", (("DOUBLE", "0"), ("P", "2"), ("PERIODIC", "0")))


def no_nvrtc():
    raise ImportError("No module named 'cuda'")


def broken_import(name):
    raise AttributeError("no attribute 'ffi'")


@pytest.mark.parametrize(
    ("missing", "says"),
    [
        ("nvrtc", "ImportError: No module named 'cuda'"),
        ("target", re.escape(_launch.target())),
        ("ffi", "AttributeError: no"),
    ],
)
def test_one_warning_where_something_is_missing(missing, says, monkeypatch):
    """Without NVRTC, a part of JAX, or where XLA has no such target, as on the CPU: the portable engine."""
    cpu = jax.devices("cpu")
    for name in ("devices", "local_devices"):
        monkeypatch.setattr(jax, name, lambda backend=None: cpu)
    monkeypatch.setattr(_compile, "nvrtc", no_nvrtc if missing == "nvrtc" else lambda: None)
    if missing == "ffi":
        monkeypatch.setattr(_choice.importlib, "import_module", broken_import)
    _choice.gpu_engine.cache_clear()
    try:
        with pytest.warns(UserWarning, match=f"(?s)slowly, without its CUDA kernels.*{says}") as warned:
            assert _choice.gpu_engine() is None
        assert _choice.gpu_engine() is None
    finally:
        _choice.gpu_engine.cache_clear()
    assert len(warned) == 1


@pytest.mark.parametrize(
    ("inputs", "outputs", "says"),
    [
        (("points", "scale", "sizes"), {"found": F32}, "takes .*'powers'"),
        (("scale", "powers", "sizes"), {"found": F32}, "takes .*'powers', 'scale'"),
        (("powers", "scale", "sizes", "found"), {"found": F32}, "takes .*'sizes', 'found'"),
        (("powers", "scale", "sizes"), {"found": F64}, "found as float, not as float64"),
    ],
)
def test_operands_are_those_that_the_source_names(inputs, outputs, says):
    """By which every launch of the other tests is checked, where there is no GPU."""
    if cuda_host.compiler() is None:
        pytest.skip("no C++ compiler: neither g++ nor the wheel ziglang")
    kernel = Kernel.of("in_units", m=1, dtype=F32)
    inputs = {name: np.zeros(2, np.int32 if name == "sizes" else F32) for name in inputs}
    outputs = {name: jax.ShapeDtypeStruct((2,), dtype) for name, dtype in outputs.items()}
    right = {name: np.zeros(2, np.int32 if name == "sizes" else F32) for name in ("powers", "scale", "sizes")}
    cuda_host.check_operands(kernel, right, {"found": jax.ShapeDtypeStruct((2,), F32)})
    with pytest.raises(AssertionError, match=says):
        cuda_host.check_operands(kernel, inputs, outputs)


def test_the_sources_are_in_the_package():
    names = "bins.cu count.cu fill.cu join.cu nodes.cu order.cu packets.cu singles.cu warp.cuh"
    assert set(names.split()) <= set(_compile.sources())


def test_kernels_are_for_a_gpu_of_this_process(monkeypatch):
    """`jax.devices` begins with those of the first process, on which the others run nothing."""
    gpus = [types.SimpleNamespace(compute_capability=each) for each in ("8.0", "9.0")]
    monkeypatch.setattr(jax, "devices", lambda backend: gpus)
    monkeypatch.setattr(jax, "local_devices", lambda backend: gpus[1:])
    assert _launch.architecture() == "90"


def test_kernels_are_tried_inside_of_shard_map(monkeypatch):
    """Where the first search of a program may be."""
    mesh = jax.make_mesh(
        (2,), ("d",), axis_types=(jax.sharding.AxisType.Auto,), devices=jax.devices("cpu")[:2]
    )
    rows = jax.sharding.PartitionSpec("d")
    tried = []
    monkeypatch.setattr(_compile, "nvrtc", lambda: None)
    monkeypatch.setattr(_launch, "_own_gpu", lambda: jax.devices("cpu")[0])
    monkeypatch.setattr(jax.ffi, "ffi_call", lambda *_: lambda **_: tried.append(1) or np.int32(len(tried)))

    def search(x):
        _launch.check()
        return x

    jax.jit(jax.shard_map(search, mesh=mesh, in_specs=rows, out_specs=rows))(np.ones(4))
    with pytest.raises(RuntimeError, match="runs no kernel"):
        _launch.check()
