# SPDX-License-Identifier: Apache-2.0
"""What the other parts talk about. Nothing here does anything."""

from dataclasses import dataclass
from enum import IntEnum


@dataclass(frozen=True)
class GpuId:
    """A GPU anywhere: nothing above the manager takes for granted that it is in this host."""

    host: str
    uuid: str


@dataclass(frozen=True)
class Gpu:
    """A GPU of this host, as NVML describes it."""

    id: GpuId
    index: int
    pci: str
    name: str
    memory_total: int
    memory_reserved: int

    @property
    def capacity(self) -> int:
        """What slices may sum to: the rest is the driver's own."""
        return self.memory_total - self.memory_reserved


@dataclass(frozen=True)
class SliceRequest:
    """What is asked of one GPU; gpu is an index, a UUID or a PCI address."""

    gpu: str
    memory_max: int


@dataclass(frozen=True)
class SliceSpec:
    """A request whose GPU has been found."""

    gpu: Gpu
    memory_max: int


@dataclass(frozen=True)
class Slice:
    """What a tenant holds of one GPU, and what it used of it."""

    index: int
    gpu: GpuId
    pci: str
    flags: int
    memory_max: int
    memory_current: int
    memory_buffers: int
    memory_contexts: int
    memory_managed: int
    memory_peak: int
    refusals: int


@dataclass(frozen=True)
class Calibration:
    """What a driver takes of a GPU without a request that names it."""

    channel_bytes: int
    context_bytes: int


@dataclass(frozen=True)
class Tenant:
    """reason says why its files cannot be opened now, and is empty when they can."""

    id: int
    name: str
    flags: int
    files: int
    reason: str
    slices: tuple[Slice, ...]


class DriverState(IntEnum):
    """VGPU_DRIVER_* of the uapi header, by test."""

    ABSENT = 0
    QUALIFIED = 1
    UNQUALIFIED = 2
    REFUSED = 3

    @property
    def enforceable(self) -> bool:
        return self in (DriverState.QUALIFIED, DriverState.UNQUALIFIED)


@dataclass(frozen=True)
class ModuleInfo:
    """What the module is and which driver it sees."""

    abi_version: int
    driver_state: DriverState
    driver: str
    tenants: int
    reason: str
