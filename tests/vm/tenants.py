# SPDX-License-Identifier: Apache-2.0
"""What the tests of slices say over and over: make, run in, look at the ledger, look at the truth.

Ledger figures are compared with nvsim's own books (debugfs), never with themselves.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from guest import modules
from guest.boot import Guest
from guest.image import TREE
from vmtest.vm import Process, Result

MiB = 1 << 20
GiB = 1 << 30

CUDA = ("/usr/bin/python3", str(TREE / "tests/clients/cuda.py"))


def lines(text: str) -> list[dict[str, Any]]:
    """What a client said: one JSON object a line."""
    return [json.loads(line) for line in text.splitlines()]


def client(name: str) -> str:
    """The static program of tests/clients/NAME.c, compiled on the host and run in the guest."""
    source = TREE / "tests/clients" / f"{name}.c"
    program = TREE / "build/clients" / name
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        program.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["gcc", "-static", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread",
             "-o", program, source],
            check=True,
        )  # fmt: skip
    return str(program)


class Tenants:
    """The tenants of one guest, through the command line alone."""

    def __init__(self, vm: Guest) -> None:
        self.vm = vm

    def vgpu(self, *words: str, check: bool = True, timeout: float = 200) -> Result:
        return self.vm.run(["vgpu", *words], check=check, timeout=timeout, cwd=TREE)

    def create(
        self, name: str, *memory: str, gpus: Sequence[int] = (0,), options: str = ""
    ) -> None:
        words = ["create", name]
        for gpu, size in zip(gpus, memory, strict=True):
            words += ["--gpu", str(gpu), "--memory", size]
        self.vgpu(*words, *options.split())

    @contextmanager
    def driver(self, *parameters: str) -> Iterator[None]:
        """Another driver, or none without parameters, in place of the guest's."""
        insmod = ["insmod", str(modules.build(self.vm.machine.kernel.version)["nvsim"])]
        self.vm.run("rmmod nvsim", check=True)
        if parameters:
            self.vm.run([*insmod, *parameters], check=True)
        try:
            yield
        finally:
            if parameters:
                self.vm.run("rmmod nvsim", check=True)
            self.vm.run(insmod, check=True)

    def used(self, gpu: int = 0) -> int:
        """Bytes of a GPU that clients hold: nvsim's word, not ours."""
        return self.vm.used(gpu)

    def reset_peak(self, gpu: int = 0) -> None:
        self.vm.run(f"echo 0 > /sys/kernel/debug/nvsim/gpu{gpu}/peak", check=True)

    def peak(self, gpu: int = 0) -> int:
        """The most that clients held at once since the reset: nvsim's word too."""
        return int(self.vm.get(f"/sys/kernel/debug/nvsim/gpu{gpu}/peak"))

    def remove_all(self) -> None:
        for tenant in json.loads(self.vgpu("list", "--json").stdout):
            self.vgpu("rm", tenant["name"])

    def ledger(self, name: str, index: int = 0) -> dict[str, Any]:
        """One slice as `vgpu list --json` shows it."""
        for tenant in json.loads(self.vgpu("list", "--json").stdout):
            if tenant["name"] == name:
                piece: dict[str, Any] = tenant["gpus"][index]
                return piece
        raise AssertionError(f"vgpu list does not show {name}")

    def left(self, name: str) -> tuple[int, int]:
        """What the ledger and nvsim still hold once no file of the tenant is open: the last one of
        a killed container goes a moment after `vgpu run` has ended."""
        deadline = time.monotonic() + 60
        while json.loads(self.vgpu("show", name, "--json").stdout)["files"]:
            assert time.monotonic() < deadline, f"files of {name} stay open"
        return self.current(name), self.used()

    def current(self, name: str, index: int = 0) -> int:
        return int(self.ledger(name, index)["memory_current"])

    def run(self, name: str, *command: str, check: bool = True, timeout: float = 400) -> Result:
        return self.vm.run(
            ["vgpu", "run", name, "--", *command], check=check, timeout=timeout, cwd=TREE
        )

    def popen(self, name: str, *command: str) -> Process:
        """Its standard input stays open: `cuda.py hold` holds until that ends."""
        return self.vm.popen(["vgpu", "run", name, "--", *command], cwd=TREE, stdin=True)
