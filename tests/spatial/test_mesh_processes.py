"""A KDTree over points of several processes, which talk by gloo as those of several hosts do."""

import os
import pathlib
import socket
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PROCESSES = 2


@pytest.mark.thorough
def test_two_processes():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    if "device_count" in environment.get("XLA_FLAGS", ""):
        del environment["XLA_FLAGS"]  # here each has one device
    commands = [
        [
            sys.executable,
            str(ROOT / "tests" / "helpers" / "mesh_process.py"),
            *map(str, (number, PROCESSES, port)),
        ]
        for number in range(PROCESSES)
    ]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "env": environment}
    processes = [subprocess.Popen(command, **pipes) for command in commands]
    try:
        written = [process.communicate(timeout=600)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, text in zip(processes, written, strict=True):
        assert process.returncode == 0, text
        assert "done" in text
