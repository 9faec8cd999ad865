# SPDX-License-Identifier: Apache-2.0
"""nvsim alone, by raw calls: handles, memory and the books, checks of files and clients."""

from __future__ import annotations

import ast
import signal
import time
from collections.abc import Iterator

import pytest
from guest import modules
from guest.boot import Guest
from guest.image import TREE
from tenants import client

CHECKS = TREE / "tests" / "clients" / "nvsim_checks.py"

pytestmark = pytest.mark.guest(vgpu=False)


def _names() -> Iterator[str]:
    for node in ast.parse(CHECKS.read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("check_"):
            yield node.name


@pytest.mark.parametrize("name", list(_names()))
def test_check(vm: Guest, name: str) -> None:
    result = vm.run(["pyfork", str(CHECKS), name], timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    assert vm.used() == 0


@pytest.mark.parametrize("ended", [True, False])
def test_chaos(vm: Guest, ended: bool) -> None:
    """Random calls from many threads, to their end or killed in the middle, leave nothing."""
    seeds = range(3) if ended else range(3, 6)
    programs = [vm.popen([client("chaos"), str(seed), "8" if ended else "600"]) for seed in seeds]
    if not ended:
        vm.run("sleep 4", check=True)
    for program in programs:
        if not ended:
            program.kill()
        assert program.wait().returncode == (0 if ended else -signal.SIGKILL)
    # The last threads of a killed process may still be on their way out.
    deadline = time.monotonic() + 30
    while vm.books() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert vm.books() == []
    assert vm.used() == 0


@pytest.mark.guest(gpus=2, vram="16G,80G")
def test_check_cards_and_ids_of_two_gpus(vm: Guest) -> None:
    result = vm.run(["python3", str(CHECKS), "check_cards_and_ids"], timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr


def test_module_goes_while_nobody_uses_it(vm: Guest) -> None:
    assert vm.run("exec 3</dev/nvidia0; rmmod nvsim").returncode != 0
    vm.run("rmmod nvsim", check=True)
    assert not vm.run("ls -d /dev/nvidia0 /proc/driver/nvidia 2>/dev/null").stdout


@pytest.mark.guest(nvsim=False)
@pytest.mark.parametrize(
    "parameter",
    [
        "gpus=0", "gpus=17", "vram=5", "vram=16X", "vram=16G,16G", "vram=512M", "vram=,",
        "driver=570.1", "channel_bytes=1",
    ],
)  # fmt: skip
def test_nonsense_parameters_are_refused_with_the_reason(vm: Guest, parameter: str) -> None:
    module = modules.build(vm.machine.kernel.version)["nvsim"]
    assert vm.run(["insmod", str(module), parameter]).returncode != 0
    assert parameter.split("=")[0] in vm.run("dmesg | tail -n 2").stdout


@pytest.mark.guest(nvsim=False)
def test_every_gpu_that_fits(vm: Guest) -> None:
    module = modules.build(vm.machine.kernel.version)["nvsim"]
    vm.run(["insmod", str(module), "gpus=16", "vram=1G,2G"], check=True)
    sizes = vm.run("nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits", check=True)
    assert sizes.stdout.split() == ["1024"] + ["2048"] * 15
    vm.run("rmmod nvsim", check=True)
