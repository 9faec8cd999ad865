# SPDX-License-Identifier: Apache-2.0
"""nvsim alone, as Debian's nvidia-smi and NVML see it."""

from __future__ import annotations

import csv
import io

import pytest
from guest.boot import Guest
from guest.image import TREE

pytestmark = pytest.mark.guest(vgpu=False, gpus=2, vram="16G,80G")

MIB = 1 << 20

# Allocates as many bytes as it is told on GPU 0, says its pid, and waits.
HOLDER = f"""
import os, sys
sys.path.insert(0, "{TREE}/tests/clients")
import nvrm
nvrm.Client().device(int(sys.argv[2])).memory(int(sys.argv[1]))
print(os.getpid(), flush=True)
sys.stdin.read()
"""

# Keeps GPU 1 busy: launches of 200,000 blocks of block_ns, several queued.
BUSY = f"""
import sys
sys.path.insert(0, "{TREE}/tests/clients")
import cuda
gpu = cuda.Cuda(1)
with gpu.context():
    gpu.launch(1)
    gpu.synchronize()
    print("busy", flush=True)
    while True:
        for _ in range(8):
            gpu.launch(200_000)
        gpu.synchronize()
"""

NVML = """
import json, pynvml as n
n.nvmlInit()
found = []
for i in range(n.nvmlDeviceGetCount()):
    h = n.nvmlDeviceGetHandleByIndex(i)
    one, two = n.nvmlDeviceGetMemoryInfo(h), n.nvmlDeviceGetMemoryInfo(h, n.nvmlMemory_v2)
    found.append({
        "name": n.nvmlDeviceGetName(h), "uuid": n.nvmlDeviceGetUUID(h),
        "minor": n.nvmlDeviceGetMinorNumber(h), "bus": n.nvmlDeviceGetPciInfo(h).bus,
        "v1": [one.total, one.free, one.used], "v2": [two.total, two.reserved, two.free, two.used],
        "util": n.nvmlDeviceGetUtilizationRates(h).gpu,
    })
print(json.dumps(found))
"""


def query(vm: Guest, what: str, *fields: str) -> list[list[str]]:
    text = vm.run(
        ["nvidia-smi", f"--query-{what}={','.join(fields)}", "--format=csv,noheader,nounits"],
        check=True,
    ).stdout
    return [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text))]


def test_table(vm: Guest) -> None:
    table = vm.run("nvidia-smi", check=True).stdout
    assert "Driver Version: 535.309.01   CUDA Version: 12.2" in table
    assert "NVIDIA SimGPU 0" in table and "NVIDIA SimGPU 1" in table
    assert "0MiB / 16384MiB" in table and "0MiB / 81920MiB" in table
    assert "No running processes found" in table
    assert "ERR!" not in table


def test_list(vm: Guest) -> None:
    assert vm.run("nvidia-smi -L", check=True).stdout.splitlines() == [
        "GPU 0: NVIDIA SimGPU 0 (UUID: GPU-4e565349-4d00-4000-8000-000000000001)",
        "GPU 1: NVIDIA SimGPU 1 (UUID: GPU-4e565349-4d00-4000-8000-000000000002)",
    ]


def test_query(vm: Guest) -> None:
    assert query(vm, "gpu", "index", "pci.bus_id", "memory.total", "memory.free",
                 "memory.reserved", "utilization.gpu") == [
        ["0", "00000000:01:00.0", "16384", "15872", "512", "0"],
        ["1", "00000000:02:00.0", "81920", "81408", "512", "0"],
    ]  # fmt: skip


def test_details(vm: Guest) -> None:
    details = vm.run("nvidia-smi -q", check=True).stdout
    assert details.count("Product Architecture                  : Ampere") == 2
    assert details.count("VBIOS Version                         : 94.02.53.00.01") == 2
    assert "Unknown Error" not in details


def test_processes_and_memory(vm: Guest) -> None:
    holder = vm.popen(["python3", "-c", HOLDER, str(300 * MIB), "1"], stdin=True)
    try:
        pid = holder.wait_output(r"^\d+$").group()
        assert query(vm, "compute-apps", "pid", "used_memory", "gpu_uuid") == [
            [pid, "300", "GPU-4e565349-4d00-4000-8000-000000000002"]
        ]
        assert query(vm, "gpu", "memory.used") == [["0"], ["300"]]
        table = vm.run("nvidia-smi", check=True).stdout
        assert "300MiB / 81920MiB" in table and "python3" in table
    finally:
        holder.kill()
        holder.wait()
    assert query(vm, "compute-apps", "pid") == []
    assert query(vm, "gpu", "memory.used") == [["0"], ["0"]]


def test_nvml(vm: Guest) -> None:
    found = vm.json(["python3", "-c", NVML])
    assert [gpu["minor"] for gpu in found] == [0, 1]
    assert [gpu["bus"] for gpu in found] == [1, 2]
    for gpu, gib in zip(found, (16, 80), strict=True):
        total, reserve = gib << 30, 512 * MIB
        assert gpu["v1"] == [total, total - reserve, reserve]
        assert gpu["v2"] == [total, reserve, total - reserve, 0]
        assert gpu["util"] == 0


def test_utilization_follows_the_engine(vm: Guest) -> None:
    program = vm.popen(["python3", "-c", BUSY])
    try:
        program.wait_output("^busy$")
        vm.run("sleep 1.5", check=True)
        [[idle], [busy]] = query(vm, "gpu", "utilization.gpu")
        assert int(idle) == 0 and int(busy) > 50
        pmon = vm.run("nvidia-smi pmon -c 1", check=True).stdout.splitlines()[-1].split()
        assert pmon[0] == "1" and int(pmon[3]) > 20 and pmon[-1] == "python3"
    finally:
        program.kill()
        program.wait()
    vm.run("sleep 1.5", check=True)
    assert query(vm, "gpu", "utilization.gpu") == [["0"], ["0"]]


def test_monitors_run(vm: Guest) -> None:
    vm.run("nvidia-smi pmon -c 1", check=True)
    vm.run("nvidia-smi dmon -c 1", check=True)


@pytest.mark.guest(module_params=["nvsim.driver=535.288.01"])
def test_another_version_is_a_mismatch(vm: Guest) -> None:
    result = vm.run("nvidia-smi")
    assert result.returncode != 0
    assert "Driver/library version mismatch" in result.stdout
