# SPDX-License-Identifier: Apache-2.0
"""nvsim's engine alone, driven by hand: doorbells, mappings, push buffers, semaphores, UVM."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from guest.boot import Guest
from guest.image import TREE

CLIENTS = TREE / "tests" / "clients"

pytestmark = pytest.mark.guest(vgpu=False)


def _names(file: str) -> Iterator[tuple[str, str]]:
    for node in ast.parse((CLIENTS / file).read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("check_"):
            yield file, node.name


# What measures time does so where the host's load cannot change it.
TIMED = (
    "check_a_disabled_group_does_not_run",
    "check_a_launch_takes_its_time",
    "check_an_idle_doorbell_is_taken_away",
    "check_groups_share_the_engine",
)


def _check(vm: Guest, file: str, name: str) -> None:
    result = vm.run(["pyfork", str(CLIENTS / file), name], timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    assert vm.used() == 0


@pytest.mark.parametrize(
    ("file", "name"),
    [
        (file, name)
        for file, name in (*_names("engine_checks.py"), *_names("uvm_checks.py"))
        if name not in TIMED
    ],
)
def test_check(vm: Guest, file: str, name: str) -> None:
    _check(vm, file, name)


def test_an_idle_guest_has_no_timer_of_ours(vm: Guest) -> None:
    """Also when clients are open and have a doorbell mapped."""
    script = f"""
import sys, time
sys.path.insert(0, "{CLIENTS}")
from engine_checks import Queue, _device, release, wait_until
queue = Queue(_device())
queue.submit(*release(queue.semaphore(0), 1))
wait_until(lambda: queue.value(0) == 1)
time.sleep(0.2)
print(sum("nvsim" in line for line in open("/proc/timer_list")))
"""
    assert vm.python(script, check=True).stdout == "0\n"


@pytest.mark.guest(icount=True)
@pytest.mark.parametrize("name", TIMED)
def test_timed_check(vm: Guest, name: str) -> None:
    _check(vm, "engine_checks.py", name)
