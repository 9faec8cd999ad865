# SPDX-License-Identifier: Apache-2.0
"""What the README promises of scripts/demo."""

from __future__ import annotations

from guest.boot import Guest
from guest.image import TREE


def test_demo(vm: Guest) -> None:
    done = vm.run(["python3", str(TREE / "scripts/demo_guest.py")], timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    small, large = done.stdout.splitlines()[-2:]
    assert small.split()[:5] == ["small", "4", "GiB", "4", "GiB"]
    assert large.split()[:5] == ["large", "8", "GiB", "8", "GiB"]
    for line in (small, large):
        assert line.split()[-3:] == ["CUDA_ERROR_OUT_OF_MEMORY", "0", "B"]
    assert vm.used() == 0
