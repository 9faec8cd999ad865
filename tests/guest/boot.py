# SPDX-License-Identifier: Apache-2.0
"""Boots the guest with simulated GPUs and vgpu loaded."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmtest import VM, Machine, Result, VMError, kernel
from vmtest.image import FORK_SERVER

from . import image, modules
from .image import TREE

# Run before the snapshot is taken: what they read is then in the guest's page cache.
WARM_UP = (
    ("ldconfig",),
    ("sh", "-c", "runc --version; nvidia-smi || true; python3 -c 'import ctypes, json, click'"),
    ("python3", "-P", str(FORK_SERVER), "--late", "vgpu.cli.main", "vgpu.cli.slices",
     "vgpu.cli.run", "vgpu.manager", "--",
     "_cffi_backend", "click", "ctypes", "fcntl", "ipaddress", "json", "logging", "mmap",
     "pynvml", "random", "resource", "shutil", "signal", "socket", "subprocess", "tempfile",
     "threading", "traceback", "uuid"),
)  # fmt: skip

VGPU_WRAPPER = """\
#!/usr/local/bin/pyfork
import sys
from vgpu.cli.main import run
sys.argv[0] = "vgpu"
sys.exit(run())
"""

# NVIDIA's nodes are made by nvidia-modprobe or udev, which the guest does not have.
MAKE_NODES = """\
node() { [ -e "$1" ] || mknod -m 666 "$1" c "$2" "$3"; }
node /dev/nvidiactl 195 255
i=0; while [ $i -lt @GPUS@ ]; do node /dev/nvidia$i 195 $i; i=$((i + 1)); done
major=$(awk '$2 == "nvidia-uvm" { print $1 }' /proc/devices)
if [ -n "$major" ]; then
    node /dev/nvidia-uvm $major 0
    node /dev/nvidia-uvm-tools $major 1
fi
"""


@dataclass(frozen=True)
class Options:
    kernel: str | None = None
    gpus: int | None = None
    vram: str | None = None
    driver: str | None = None
    icount: bool = False
    vgpu: bool = True
    """Load vgpu.ko."""
    nvsim: bool = True
    memory: int = 2 << 30
    snapshot: bool = True
    module_params: Sequence[str] = field(default_factory=tuple)
    """Each `module.parameter=value`."""


def machine(options: Options) -> Machine:
    guest_kernel = kernel.get(options.kernel or kernel.default_version())
    user_space = image.nvidia(options.driver or image.DEFAULT_DRIVER)
    return Machine(
        kernel=guest_kernel,
        layers=image.layers(guest_kernel, user_space),
        memory=options.memory,
        icount=options.icount,
        warm_up=WARM_UP,
    )


class Guest(VM):
    """A VM with the working tree at its own path, and what tests of vgpu ask for most."""

    def python(self, code: str, *arguments: str, **keywords: Any) -> Result:
        """Runs Python code as the guest's /usr/bin/python3 would; it can import vgpu."""
        return self.run(["pyfork", "-c", code, *arguments], **keywords)

    def vgpu(self, *arguments: str, **keywords: Any) -> Result:
        return self.run(["vgpu", *arguments], **keywords)

    def json(self, command: str | Sequence[str], **keywords: Any) -> Any:
        """Runs a command that must succeed and print JSON."""
        return json.loads(self.run(command, check=True, **keywords).stdout)

    def books(self) -> list[dict[str, Any]]:
        """What nvsim says is allocated, which is the truth that a ledger is compared with."""
        text = self.run(["cat", "/sys/kernel/debug/nvsim/books"], check=True).stdout
        return [json.loads(line) for line in text.splitlines()]

    def used(self, gpu: int = 0) -> int:
        """Bytes of the simulated GPU that are in use, without the driver's reserve."""
        return int(self.get(f"/sys/kernel/debug/nvsim/gpu{gpu}/used"))


def _build_native() -> None:
    done = subprocess.run([TREE / "scripts" / "build-native"], capture_output=True, text=True)
    if done.returncode:
        raise VMError(done.stderr.strip().removeprefix("Error: "))


def boot(options: Options) -> Guest:
    guest = machine(options)
    _build_native()
    built = modules.build(guest.kernel.version)
    vm = Guest(guest, TREE, snapshot=options.snapshot)
    try:
        vm.mount_share()
        vm.run(_setup_script(options, built), check=True, timeout=120)
        vm.check_log()
    except BaseException:
        vm.close()
        raise
    return vm


def parameters(options: Options, name: str) -> list[str]:
    found = []
    if name == "nvsim":
        user_space = image.nvidia(options.driver or image.DEFAULT_DRIVER)
        values = {"gpus": options.gpus, "vram": options.vram, "driver": user_space.version}
        found = [f"{key}={value}" for key, value in values.items() if value is not None]
    for item in options.module_params:
        module, dot, rest = item.partition(".")
        if not dot or "=" not in rest or module not in modules.MODULES:
            raise VMError(f"{item}: not a module parameter", hint="write it as nvsim.block_ns=1000")
        if module == name:
            found.append(rest)
    return found


def _setup_script(options: Options, built: dict[str, Path]) -> str:
    packages = "/usr/local/lib/python3.11/dist-packages"
    lines = [
        "set -e",
        f"mkdir -p {packages}",
        f"echo {shlex.quote(str(TREE))} > {packages}/vgpu-tree.pth",
        f"printf %s {shlex.quote(VGPU_WRAPPER)} > /usr/local/bin/vgpu",
        "chmod 755 /usr/local/bin/vgpu",
    ]
    wanted = {"nvsim": options.nvsim, "vgpu": options.vgpu}
    for name, path in built.items():
        if wanted[name]:
            lines.append(shlex.join(["insmod", str(path), *parameters(options, name)]))
            if name == "nvsim":
                lines.append(MAKE_NODES.replace("@GPUS@", str(options.gpus or 1)))
    return "\n".join(lines)
