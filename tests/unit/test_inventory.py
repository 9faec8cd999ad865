# SPDX-License-Identifier: Apache-2.0
from types import SimpleNamespace

import pytest
from fakes import GPUS, FakeInventory

from vgpu.errors import VgpuError
from vgpu.inventory import NullInventory, NvmlInventory, find, pci_address


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize(
    "wanted",
    [
        lambda gpu: str(gpu.index),
        lambda gpu: gpu.id.uuid,
        lambda gpu: gpu.id.uuid.lower(),
        lambda gpu: gpu.id.uuid[:7],
        lambda gpu: gpu.pci,
        lambda gpu: gpu.pci.removeprefix("0000:"),
    ],
)
def test_found_by(index: int, wanted) -> None:
    assert find(FakeInventory(), wanted(GPUS[index])) is GPUS[index]


@pytest.mark.parametrize(
    "wanted", ["2", "-1", "", "GPU-9", "0000:09:00.0", "00.0", "all", "\u0660", "0,1", "MIG-1"]
)
def test_not_found(wanted: str) -> None:
    with pytest.raises(VgpuError, match="is not one of"):
        find(FakeInventory(), wanted)


def test_beginning_of_two_uuids() -> None:
    with pytest.raises(VgpuError, match="could be any of") as caught:
        find(FakeInventory(), "GPU-")
    assert "more of the UUID" in (caught.value.hint or "")


def test_no_driver() -> None:
    with pytest.raises(VgpuError, match="driver not loaded"):
        find(NullInventory("driver not loaded"), "0")


@pytest.mark.parametrize(
    ("bus_id", "address"),
    [("00000000:01:00.0", "0000:01:00.0"), ("00010000:C1:00.0", "10000:c1:00.0")],
)
def test_pci_address_is_the_kernels(bus_id: str, address: str) -> None:
    assert pci_address(bus_id) == address


def test_nvml() -> None:
    nvml = SimpleNamespace(
        nvmlMemory_v2=2,
        nvmlDeviceGetCount=lambda: 1,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetUUID=lambda handle: "GPU-1",
        nvmlDeviceGetName=lambda handle: b"NVIDIA Test",
        nvmlDeviceGetPciInfo=lambda handle: SimpleNamespace(busId="00000000:01:00.0"),
        nvmlDeviceGetMemoryInfo=lambda handle, version: SimpleNamespace(total=100, reserved=7),
    )
    (gpu,) = NvmlInventory(nvml, "host").gpus()
    assert (gpu.id.host, gpu.id.uuid, gpu.name) == ("host", "GPU-1", "NVIDIA Test")
    assert (gpu.pci, gpu.capacity) == ("0000:01:00.0", 93)
