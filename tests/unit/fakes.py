# SPDX-License-Identifier: Apache-2.0
"""A host of two GPUs without a kernel module: what the manager stands on, in memory."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from vgpu.errors import VgpuError
from vgpu.inventory import Inventory, NullInventory
from vgpu.model import Calibration, DriverState, Gpu, GpuId, ModuleInfo, Slice, SliceSpec, Tenant

GIB = 1 << 30
MIB = 1 << 20

GPUS = [
    Gpu(
        id=GpuId("host", f"GPU-{index}1111111-2222-3333-4444-555555555555"),
        index=index,
        pci=f"0000:0{index + 1}:00.0",
        name="NVIDIA Test",
        memory_total=16 * GIB,
        memory_reserved=512 * MIB,
    )
    for index in range(2)
]


class FakeInventory:
    reason = ""

    def __init__(self, gpus: list[Gpu] | None = None) -> None:
        self._gpus = GPUS if gpus is None else gpus

    def gpus(self) -> list[Gpu]:
        return list(self._gpus)


@dataclass
class FakeHost:
    """Control device, dump, nodes and inventory at once; calls are what was done, in order."""

    state: DriverState = DriverState.QUALIFIED
    reason: str = ""
    inventory: Inventory = field(default_factory=FakeInventory)
    mount_error: VgpuError | None = None
    measure_error: VgpuError | None = None
    calibrations: dict[tuple[str, str], Calibration] = field(default_factory=dict)
    calls: list[tuple[object, ...]] = field(default_factory=list)
    tenants: dict[str, Tenant] = field(default_factory=dict)

    def __enter__(self) -> "FakeHost":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def info(self) -> ModuleInfo:
        return ModuleInfo(1, self.state, "535.309.01", len(self.tenants), self.reason)

    def create(self, name: str, slices: Sequence[SliceSpec], *, overcommit: bool = False) -> int:
        if name in self.tenants:
            raise VgpuError(f"{name}: the name is taken", "choose another name")
        self.calls.append(("create", name, overcommit))
        number = len(self.tenants) + 1
        self.tenants[name] = tenant(number, name, [(it.gpu, it.memory_max) for it in slices])
        return number

    def remove(self, name: str) -> None:
        if name not in self.tenants:
            raise VgpuError(f"{name}: no tenant of that name", "see 'vgpu list'")
        self.calls.append(("remove", name))
        del self.tenants[name]

    def join(self, name: str, cgroup_fd: int) -> None:
        self.calls.append(("join", name))

    def calibrate(self, uuid: str, driver: str, channel_bytes: int, context_bytes: int) -> None:
        self.calls.append(("calibrate", uuid, driver, channel_bytes, context_bytes))

    def effects(self) -> list[tuple[object, ...]]:
        return [call for call in self.calls if call[0] not in ("measure", "calibrate")]

    def mount(self, name: str) -> str:
        if self.mount_error:
            raise self.mount_error
        self.calls.append(("mount", name))
        return f"/run/vgpu/{name}"

    def unmount(self, name: str) -> None:
        self.calls.append(("unmount", name))

    def measure(self, gpu: Gpu) -> Calibration:
        if self.measure_error:
            raise self.measure_error
        self.calls.append(("measure", gpu.index))
        return Calibration(MIB, 4 * MIB)

    def kept(self, driver: str, model: str) -> Calibration | None:
        return self.calibrations.get((driver, model))

    def keep(self, driver: str, model: str, calibration: Calibration) -> None:
        self.calibrations[driver, model] = calibration

    def dump(self) -> list[Tenant]:
        return list(self.tenants.values())


def without_driver() -> FakeHost:
    return FakeHost(
        state=DriverState.ABSENT, inventory=NullInventory("NVML finds no GPU: driver not loaded")
    )


def tenant(number: int, name: str, slices: list[tuple[Gpu, int]], reason: str = "") -> Tenant:
    return Tenant(
        id=number,
        name=name,
        flags=0,
        files=0,
        reason=reason,
        slices=tuple(
            Slice(
                index=index,
                gpu=gpu.id,
                pci=gpu.pci,
                flags=0,
                memory_max=memory_max,
                memory_current=3 * MIB,
                memory_buffers=2 * MIB,
                memory_contexts=MIB,
                memory_managed=0,
                memory_peak=5 * MIB,
                refusals=7,
            )
            for index, (gpu, memory_max) in enumerate(slices)
        ),
    )
