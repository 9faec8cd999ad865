# SPDX-License-Identifier: Apache-2.0
"""Does KVM really work here? /dev/kvm may exist and still not run a guest.

The only sure way is to try: a kernel without a root file system is booted. Where KVM serves, it
panics and QEMU ends within a second or two. The verdict is kept until this host boots again.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from . import cache

TRIAL_SECONDS = 10
CPU = "host,-arch-capabilities"


def works(vmlinux: Path) -> bool:
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text()
    name = cache.key(boot_id, str(vmlinux), "v1")
    path = cache.entry("kvm", name, lambda tmp: _try(vmlinux, tmp), "trying KVM")
    return (path / "works").exists()


def _try(vmlinux: Path, directory: Path) -> None:
    console = directory / "console"
    argv = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot"]
    argv += ["-display", "none", "-machine", "q35,accel=kvm", "-cpu", CPU, "-m", "256M"]
    argv += ["-kernel", str(vmlinux), "-append", "console=ttyS0 panic=-1"]
    argv += ["-serial", f"file:{console}"]
    try:
        subprocess.run(argv, timeout=TRIAL_SECONDS, capture_output=True, check=True)
    except (subprocess.SubprocessError, OSError):
        return
    if "Kernel panic" in console.read_text(errors="replace"):
        (directory / "works").touch()
