# SPDX-License-Identifier: Apache-2.0
"""nvsim as unmodified libcuda sees it: contexts, copies, launches, and what is left after."""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest
from guest.boot import Guest
from guest.image import TREE

MIB = 1 << 20
GIB = 1 << 30

BLOCK_NS = 10_000
PARAMETERS = (f"nvsim.block_ns={BLOCK_NS}",)

CUDA = str(TREE / "tests" / "clients" / "cuda.py")

pytestmark = pytest.mark.guest(vgpu=False, vram="16G", module_params=PARAMETERS)


def cuda(vm: Guest, *arguments: str) -> list[dict[str, Any]]:
    """What the CUDA client printed; it must have succeeded."""
    result = vm.run(["python3", CUDA, *arguments], check=True, timeout=120)
    return [json.loads(line) for line in result.stdout.splitlines()]


def start(vm: Guest, *arguments: str) -> Any:
    process = vm.popen(["python3", CUDA, *arguments], stdin=True)
    process.wait_output(r'"pid"', timeout=60)
    return process


def wait_until(true: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def nothing_left(vm: Guest) -> bool:
    return vm.used() == 0 and vm.books() == []


def test_info(vm: Guest) -> None:
    (info,) = cuda(vm, "info")
    assert info["devices"] == 1
    assert info["name"] == "NVIDIA SimGPU 0"
    assert info["total"] == info["total_mem"] <= 16 * GIB
    # A context takes some of it.
    assert 0 < info["total"] - info["free"] < GIB
    assert nothing_left(vm)


def test_memory_is_allocated_until_refused_and_the_program_goes_on(vm: Guest) -> None:
    refused, went_on = cuda(vm, "alloc-until-refused", "--size", "256MiB")
    assert refused["code"] == 2
    assert refused["free"] - 256 * MIB < refused["allocated"] <= refused["free"]
    assert went_on == {"went_on": True, "free": refused["free"]}
    assert nothing_left(vm)


def test_copies_are_real(vm: Guest) -> None:
    for size in ("1", "4095", "1000003", "64MiB"):
        (copy,) = cuda(vm, "copy", "--size", size)
        assert copy["same"], size


def test_managed_memory(vm: Guest) -> None:
    (managed,) = cuda(vm, "managed")
    assert managed["same"]
    assert nothing_left(vm)


@pytest.mark.guest(icount=True)
def test_a_launch_lasts_its_grid(vm: Guest) -> None:
    for grid in (100, 1000, 10000):
        asked_ms = grid * BLOCK_NS / 1e6
        for launch in cuda(vm, "launch", "--grid", str(grid), "--count", "3"):
            assert asked_ms <= launch["events_ms"] < asked_ms + 1
            assert asked_ms <= launch["wall_ms"] < asked_ms + 5


def test_the_books_name_each_process(vm: Guest) -> None:
    first = start(vm, "hold", "--size", "300MiB")
    second = start(vm, "hold", "--size", "500MiB")
    held: dict[int, int] = {}
    for line in vm.books():
        held[line["pid"]] = held.get(line["pid"], 0) + line["bytes"]
    assert len(held) == 2
    assert sum(held.values()) == vm.used()
    small, large = sorted(held.values())
    assert large - small == 200 * MIB

    first.kill()
    first.wait()
    wait_until(lambda: len({line["pid"] for line in vm.books()}) == 1)
    assert vm.used() == large
    second.kill()
    second.wait()
    wait_until(lambda: nothing_left(vm))


def test_processes_side_by_side(vm: Guest) -> None:
    loops = [start(vm, "loop", "--count", "20") for _ in range(3)]
    for loop in loops:
        result = loop.wait(timeout=120)
        assert result.returncode == 0, result.stderr
    assert nothing_left(vm)


def test_a_child_of_fork_takes_nothing_away(vm: Guest) -> None:
    code = """
import ctypes, os, signal, sys
sys.path.insert(0, sys.argv[1])
from cuda import MIB, Cuda, pattern
data = pattern(MIB)
with Cuda().context() as gpu:
    pointer, managed = gpu.alloc(MIB), gpu.alloc_managed(MIB)
    ctypes.memmove(managed, data, MIB)
    if not os.fork():
        # UVM mappings are the parent's alone: the child dies of a touch.
        ctypes.string_at(managed, 1)
        os._exit(0)
    _, how = os.wait()
    print(os.WTERMSIG(how))
    gpu.to_device(pointer, data)
    assert gpu.to_host(pointer, MIB) == data
    assert ctypes.string_at(managed, MIB) == data
"""
    result = vm.python(code, str(TREE / "tests" / "clients"), check=True, timeout=120)
    assert int(result.stdout) == signal.SIGBUS
    assert nothing_left(vm)


def test_kill_at_any_moment_leaves_nothing(vm: Guest) -> None:
    dice = random.Random(20)
    for i in range(20):
        process = vm.popen(["python3", CUDA, "loop", "--size", "32MiB"])
        if i % 2:
            process.wait_output(r'"pid"', timeout=60)
        time.sleep(dice.uniform(0, 1.5))
        process.kill()
        assert process.wait().returncode == -signal.SIGKILL
        wait_until(lambda: nothing_left(vm))


def test_the_module_goes(boot: Callable[..., Guest]) -> None:
    vm = boot(vgpu=False)
    cuda(vm, "copy", "--size", "1MiB")
    vm.run("rmmod nvsim", check=True)
    assert vm.run("lsmod").stdout.count("nvsim") == 0
