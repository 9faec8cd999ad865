#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The part of scripts/demo that runs where the GPU is: as root, with vgpu loaded. Needs a GPU on
which 12 GiB can be given out."""

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from vgpu import netlink  # noqa: E402
from vgpu.cli.output import table  # noqa: E402
from vgpu.model import Slice  # noqa: E402
from vgpu.units import format_size, parse_size  # noqa: E402

ASKED = {"small": "4GiB", "large": "8GiB"}
CLIENT = str(HERE / "demo_client.py")
BOOKS = Path("/sys/kernel/debug/nvsim/gpu0/used")
PATIENCE = 120.0

started = time.monotonic()


def say(text: str) -> None:
    print(f"\n[{time.monotonic() - started:3.0f} s] {text}", flush=True)


def shell(*command: str) -> None:
    """As a person would type it; any failure ends the demo."""
    print(f"# {shlex.join(command)}", flush=True)
    subprocess.run(command, check=True)


def ledger(name: str) -> Slice:
    (piece,) = next(it for it in netlink.tenants(os.uname().nodename) if it.name == name).slices
    return piece


class Container(threading.Thread):
    """'vgpu run' with every line that it prints marked with the tenant's name."""

    def __init__(self, name: str, *command: str) -> None:
        super().__init__()
        self.tenant = name
        self.result: dict[str, Any] = {}
        self.command = ["vgpu", "run", name, "--", *command]
        print(f"# {shlex.join(self.command)}", flush=True)
        self.process = subprocess.Popen(
            self.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.start()

    def run(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            if line.startswith("RESULT "):
                self.result = json.loads(line.removeprefix("RESULT "))
            else:
                print(f"{self.tenant} | {line}", end="", flush=True)
        self.process.wait()

    def finish(self) -> dict[str, Any]:
        self.join(PATIENCE)
        if self.process.returncode != 0 or not self.result:
            sys.exit(f"Error: {self.tenant}: its container ended with {self.process.returncode}")
        return self.result


def wait_for(what: str, condition: Any) -> None:
    """The ledger can be asked but does not call: this is the one place that looks again."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"Error: {what} did not happen within {PATIENCE:.0f} s")
        time.sleep(0.02)


def processes(name: str) -> list[int]:
    group = next(Path("/sys/fs/cgroup/vgpu").glob(f"{name}-*"))
    return [int(pid) for pid in (group / "cgroup.procs").read_text().split()]


def kill_while_allocating() -> dict[str, int]:
    """What each ledger still holds after SIGKILL."""
    containers = {name: Container(name, "python3", CLIENT, "--forever") for name in ASKED}
    for name in ASKED:
        half = ledger(name).memory_max // 2
        wait_for("allocating", lambda name=name, half=half: ledger(name).memory_current > half)
    shell("vgpu", "list")
    pids = [pid for name in ASKED for pid in processes(name)]
    print(f"# kill -9 {shlex.join(map(str, pids))}", flush=True)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    for container in containers.values():
        container.join(PATIENCE)
    return {name: ledger(name).memory_current for name in ASKED}


def main() -> int:
    say("the GPU, as this machine sees it")
    shell("nvidia-smi")
    say("two slices of it")
    for name, size in ASKED.items():
        shell("vgpu", "create", name, "--gpu", "0", "--memory", size)
    say("a container on each; inside, Debian's nvidia-smi and a CUDA program that takes all it can")
    command = f"nvidia-smi && exec python3 {shlex.quote(CLIENT)}"
    containers = [Container(name, "sh", "-c", command) for name in ASKED]
    results = {it.tenant: it.finish() for it in containers}
    say("kill -9 in the middle of allocating")
    left = kill_while_allocating()
    say("what there is now")
    shell("vgpu", "list")
    if BOOKS.exists():
        print(f"the GPU's own books: {format_size(int(BOOKS.read_text()))} in use")
    print(f"\n{summary(results, left)}")
    return 0 if as_promised(results, left) else 1


def summary(results: dict[str, Any], left: dict[str, int]) -> str:
    head = ("SLICE", "ASKED", "SEEN IN THE CONTAINER", "ALLOCATED", "REFUSED", "LEFT AFTER KILL")
    return table(
        head,
        [
            (
                name,
                format_size(parse_size(ASKED[name])),
                format_size(found["nvidia_smi"]),
                format_size(found["allocated"]),
                found["refusal"],
                format_size(left[name]),
            )
            for name, found in results.items()
        ],
    )


def as_promised(results: dict[str, Any], left: dict[str, int]) -> bool:
    return not any(left.values()) and all(
        found["nvidia_smi"] == parse_size(ASKED[name])
        and 0 < found["allocated"] <= found["total"] <= parse_size(ASKED[name])
        and found["refusal"] == "CUDA_ERROR_OUT_OF_MEMORY"
        and found["went_on"]
        for name, found in results.items()
    )


if __name__ == "__main__":
    sys.exit(main())
