# SPDX-License-Identifier: Apache-2.0
"""What a driver takes for channels and contexts of a GPU: measured once, kept by driver version and
model, and told to the module, which charges it before each channel and context is made."""

import contextlib
import json
import os
from dataclasses import asdict
from typing import Any

from vgpu._native import ffi, lib
from vgpu.device import text
from vgpu.errors import VgpuError
from vgpu.model import Calibration, Gpu

PATH = "/var/lib/vgpu/calibration.json"


def _once(gpu: Gpu) -> Calibration:
    domain, bus, rest = gpu.pci.split(":")
    pci = ffi.new("struct vgpu_pci *")
    pci.domain, pci.bus, pci.slot = int(domain, 16), int(bus, 16), int(rest.split(".")[0], 16)
    out = ffi.new("struct vgpu_calibration *")
    error = -lib.vgpu_calibrate(pci, out)
    if error:
        why = f"status 0x{out.status:x}" if out.status else os.strerror(error).lower()
        raise VgpuError(
            f"GPU {gpu.index} cannot be measured: {text(out.step)}: {why}",
            "until it is, channels and contexts are charged by the driver's own upper bound",
        )
    return Calibration(out.channel_bytes, out.context_bytes)


def measure(gpu: Gpu) -> Calibration:
    """Twice: what other programs take or give back in between would be taken for ours."""
    first, second = _once(gpu), _once(gpu)
    if first != second:
        raise VgpuError(
            f"GPU {gpu.index} cannot be measured: other programs use it",
            "try again while it is idle",
        )
    return first


def _load() -> dict[str, Any]:
    """A file that cannot be read is one that is not there: it is measured again."""
    with contextlib.suppress(OSError, ValueError), open(PATH) as file:
        found = json.load(file)
        if isinstance(found, dict):
            return found
    return {}


def kept(driver: str, model: str) -> Calibration | None:
    with contextlib.suppress(KeyError, TypeError):
        found = Calibration(**_load()[driver][model])
        if all(isinstance(it, int) and it >= 0 for it in asdict(found).values()):
            return found
    return None


def keep(driver: str, model: str, calibration: Calibration) -> None:
    os.makedirs(os.path.dirname(PATH), mode=0o755, exist_ok=True)
    everything = _load()
    everything.setdefault(driver, {})[model] = asdict(calibration)
    # A half-written file is never seen: the new one takes the place of the old one at once.
    with open(f"{PATH}.new", "w") as file:
        json.dump(everything, file, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(file.name, PATH)
