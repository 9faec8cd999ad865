# SPDX-License-Identifier: Apache-2.0
"""The GPUs of this host, as NVML knows them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from vgpu.errors import VgpuError
from vgpu.model import Gpu, GpuId


class Inventory(Protocol):
    """reason says why there is no GPU to list, and is empty when there is one."""

    reason: str

    def gpus(self) -> list[Gpu]: ...


class NullInventory:
    """A host on which no driver answers."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def gpus(self) -> list[Gpu]:
        return []


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def pci_address(bus_id: str) -> str:
    """NVML writes the domain with eight digits and in capitals, the kernel with four: the names
    below /proc/driver/nvidia/gpus are the kernel's."""
    domain, rest = bus_id.lower().split(":", 1)
    return f"{int(domain, 16):04x}:{rest}"


class NvmlInventory:
    """Everything is read at once: a handle of NVML is worth nothing after its shutdown."""

    reason = ""

    def __init__(self, nvml: Any, host: str) -> None:
        self._gpus = [
            self._gpu(nvml, nvml.nvmlDeviceGetHandleByIndex(index), index, host)
            for index in range(nvml.nvmlDeviceGetCount())
        ]

    @staticmethod
    def _gpu(nvml: Any, handle: Any, index: int, host: str) -> Gpu:
        memory = nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2)
        return Gpu(
            id=GpuId(host, _text(nvml.nvmlDeviceGetUUID(handle))),
            index=index,
            pci=pci_address(_text(nvml.nvmlDeviceGetPciInfo(handle).busId)),
            name=_text(nvml.nvmlDeviceGetName(handle)),
            memory_total=memory.total,
            memory_reserved=memory.reserved,
        )

    def gpus(self) -> list[Gpu]:
        return list(self._gpus)


@contextmanager
def _nvml() -> Iterator[Any]:
    import pynvml

    pynvml.nvmlInit()
    try:
        yield pynvml
    finally:
        pynvml.nvmlShutdown()


def load() -> Inventory:
    """What this host has. A driver that does not answer is not an error yet: the caller knows
    whether a GPU is needed."""
    import pynvml

    try:
        with _nvml() as nvml:
            return NvmlInventory(nvml, os.uname().nodename)
    except pynvml.NVMLError as error:
        return NullInventory(f"NVML finds no GPU: {error}".lower().replace("nvml", "NVML"))


def find(inventory: Inventory, wanted: str) -> Gpu:
    """By index, by UUID (a beginning that only one GPU has is enough), or by PCI address."""
    gpus = inventory.gpus()
    if not gpus:
        raise VgpuError(
            f"GPU {wanted}: {inventory.reason or 'this host has none'}",
            "load the NVIDIA driver and see that 'nvidia-smi' lists the GPU",
        )
    if wanted.isascii() and wanted.isdecimal():
        matches = [gpu for gpu in gpus if gpu.index == int(wanted)]
    elif wanted.upper().startswith("GPU-"):
        key = wanted.lower()
        matches = [gpu for gpu in gpus if gpu.id.uuid.lower().startswith(key)]
    else:
        matches = [gpu for gpu in gpus if wanted.lower() in (gpu.pci, gpu.pci.split(":", 1)[1])]
    if len(matches) > 1:
        names = ", ".join(gpu.id.uuid for gpu in matches)
        raise VgpuError(f"GPU {wanted} could be any of {names}", "write more of the UUID")
    if not matches:
        names = ", ".join(f"{gpu.index} ({gpu.id.uuid}, {gpu.pci})" for gpu in gpus)
        raise VgpuError(f"GPU {wanted} is not one of {names}", "see 'nvidia-smi -L'")
    return matches[0]
