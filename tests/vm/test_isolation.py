# SPDX-License-Identifier: Apache-2.0
"""Whose is it: two GPUs, two tenants in one namespace, files that travel, a driver that is away."""

from __future__ import annotations

import json

import pytest
from guest.image import TREE
from tenants import CUDA, GiB, MiB, Tenants, lines


@pytest.mark.guest(gpus=2, vram="16G,80G")
class TestTwoGpus:
    def test_a_slice_of_gpu_1_is_gpu_0_inside(self, tenants: Tenants) -> None:
        tenants.create("a", "20GiB", gpus=[1])
        listed = json.loads(tenants.vgpu("list", "--json").stdout)[0]["gpus"][0]
        assert listed["gpu"] == 1
        inside = tenants.run("a", "sh", "-c", "ls /dev | grep nvidia; nvidia-smi -L").stdout
        assert inside.split("GPU 0")[0].split() == ["nvidia-uvm", "nvidia0", "nvidiactl"]
        assert listed["uuid"] in inside
        assert inside.count("UUID") == 1
        seen = json.loads(tenants.run("a", *CUDA, "info").stdout)
        assert seen["devices"] == 1
        assert seen["total"] == 20 * GiB
        holder = tenants.popen("a", *CUDA, "hold", "--size", "1GiB")
        holder.wait_output(r"\{.*\}")
        assert tenants.used(0) == 0
        assert tenants.used(1) > GiB
        holder.kill_group()
        holder.wait()

    def test_a_tenant_of_two_gpus_has_two_limits(self, tenants: Tenants) -> None:
        """Its first GPU is its /dev/nvidia0; NVML and CUDA number by PCI address all the same."""
        tenants.create("a", "2GiB", "1GiB", gpus=[1, 0])
        limits = {tenants.ledger("a", index)["uuid"]: GiB << 1 - index for index in (0, 1)}
        assert list(limits.values()) == [2 * GiB, GiB]
        query = ("nvidia-smi", "--query-gpu=uuid,memory.total", "--format=csv,noheader,nounits")
        shown = dict(row.split(", ") for row in tenants.run("a", *query).stdout.splitlines())
        assert {uuid: int(mib) * MiB for uuid, mib in shown.items()} == limits
        for device in (0, 1):
            fill = (*CUDA, "--device", str(device), "alloc-until-refused", "--size", "64MiB")
            seen = lines(tenants.run("a", *fill).stdout)[0]
            index = 1 - device
            assert seen["total"] == limits[tenants.ledger("a", index)["uuid"]]
            assert seen["allocated"] <= tenants.ledger("a", index)["memory_peak"] <= seen["total"]
        assert tenants.current("a", 0) == tenants.current("a", 1) == 0

    def test_a_gpu_by_uuid_and_by_address(self, tenants: Tenants) -> None:
        tenants.vgpu("create", "a", "--gpu", "0000:02:00.0", "--memory", "1GiB")
        uuid = tenants.ledger("a")["uuid"]
        tenants.vgpu("create", "b", "--gpu", uuid, "--memory", "1GiB")
        assert tenants.ledger("b")["gpu"] == tenants.ledger("a")["gpu"] == 1


def test_two_tenants_in_one_pid_namespace(tenants: Tenants) -> None:
    """The node decides, not the namespace: a shell on the host with both tenants' nodes."""
    tenants.create("a", "1GiB")
    tenants.create("b", "2GiB")
    script = (
        "set -e; for n in nvidiactl nvidia0 nvidia-uvm; do "
        "mount --bind /run/vgpu/{0}/$n /dev/$n; done; exec {1} hold --size 128MiB"
    )
    holders = []
    for name in ("a", "b"):
        inside = script.format(name, " ".join(CUDA))
        holders.append(tenants.vm.popen(["unshare", "--mount", "sh", "-c", inside], stdin=True))
    said = [json.loads(holder.wait_output(r"\{.*\}")[0]) for holder in holders]
    assert [it["total"] for it in said] == [GiB, 2 * GiB]
    query = "nvidia-smi --query-compute-apps=pid --format=csv,noheader"
    look = (
        "for n in nvidiactl nvidia0 nvidia-uvm; do "
        f"mount --bind /run/vgpu/a/$n /dev/$n; done; {query}"
    )
    seen = tenants.vm.run(["unshare", "--mount", "sh", "-c", look], check=True).stdout
    assert [int(pid) for pid in seen.split()] == [said[0]["pid"]]
    for holder in holders:
        holder.kill_group()
        holder.wait()
    assert (tenants.left("a")[0], *tenants.left("b")) == (0, 0, 0)


def test_a_file_passed_to_another_tenant_stays_its_openers(tenants: Tenants) -> None:
    """What b does through a file of a's node is charged to a, and bounded by a."""
    tenants.create("a", "1GiB")
    tenants.create("b", "4GiB")
    program = ("/usr/bin/python3", str(TREE / "tests/clients/travel.py"))
    giver = tenants.vm.popen([*program, "give", "nodes", "/run/vgpu/a"])
    giver.wait_output("ready")
    taker = tenants.popen("b", *program, "take", "nodes", str(768 * MiB))
    said = json.loads(taker.wait_output(r"\{.*\}")[0])
    assert giver.wait().returncode == 0
    assert said == {"status": 0, "got": 768 * MiB, "total": GiB, "free": 256 * MiB}
    assert tenants.current("a") == tenants.used() == 768 * MiB
    assert tenants.current("b") == 0
    # The opener is gone; the files are not.
    assert tenants.vgpu("rm", "a", check=False).returncode == 1
    taker.kill_group()
    taker.wait()
    assert tenants.left("a") == (0, 0)

    giver = tenants.vm.popen([*program, "give", "nodes", "/run/vgpu/a"])
    giver.wait_output("ready")
    taker = tenants.popen("b", *program, "take", "nodes", str(2 * GiB))
    assert json.loads(taker.wait_output(r"\{.*\}")[0])["status"] == 0x51
    taker.kill_group()
    taker.wait()


def test_raw_nodes_stay_shut(tenants: Tenants) -> None:
    """A container has CAP_MKNOD, as Docker gives it; what it makes cannot be opened."""
    tenants.create("a", "1GiB")
    tried = tenants.run(
        "a", "sh", "-c",
        "mknod /dev/raw c 195 255 && cat /dev/raw; cp -a /dev/nvidiactl /dev/copy && "
        "cat /dev/copy", check=False,
    )  # fmt: skip
    assert tried.returncode != 0
    assert tried.stderr.count("not permitted") + tried.stderr.count("Permission denied") >= 2


def test_nodes_stay_as_they_are_under_roots_hands(tenants: Tenants) -> None:
    """What nvidia-modprobe mends when a node looks wrong, it leaves as it is."""
    tenants.create("a", "1GiB")
    stat = "stat -c '%F %a %t:%T %n' /dev/nvidiactl /dev/nvidia0"
    told = tenants.run("a", "sh", "-c", f"{stat}; nvidia-smi > /dev/null; {stat}").stdout
    before, after = told.splitlines()[:2], told.splitlines()[2:]
    assert (
        before
        == after
        == [
            "character special file 666 c3:ff /dev/nvidiactl",
            "character special file 666 c3:0 /dev/nvidia0",
        ]
    )
    assert " 0MiB /" in tenants.run("a", "nvidia-smi").stdout


def test_t_mem6_without_a_driver_nothing_opens_and_the_reason_is_told(tenants: Tenants) -> None:
    """T-MEM6: fail closed, and say so."""
    tenants.create("a", "1GiB")
    with tenants.driver():
        shown = tenants.vgpu("show", "a", check=False)
        assert shown.returncode == 1
        assert "Error: " in shown.stderr
        opened = tenants.vm.run("cat /run/vgpu/a/nvidiactl")
        assert opened.returncode == 1
        assert "No such device" in opened.stderr
        assert tenants.vgpu("check", check=False).returncode == 1
    assert tenants.vgpu("show", "a").returncode == 0
    assert "1024MiB" in tenants.run("a", "nvidia-smi").stdout


def test_t_mem6_an_unknown_version_is_refused_by_name(tenants: Tenants) -> None:
    tenants.create("a", "1GiB")
    with tenants.driver("driver=535.999.99"):
        shown = tenants.vgpu("show", "a", check=False)
        assert shown.returncode == 1
        assert "535.999.99" in shown.stderr
        assert tenants.vm.run("cat /run/vgpu/a/nvidiactl").returncode == 1


def test_rm_with_a_file_open_names_the_pid(tenants: Tenants) -> None:
    tenants.create("a", "1GiB")
    holder = tenants.popen("a", *CUDA, "hold", "--size", str(16 * MiB))
    holder.wait_output(r"\{.*\}")
    refused = tenants.vgpu("rm", "a", check=False)
    assert refused.returncode == 1
    assert "open" in refused.stderr
    holder.kill_group()
    holder.wait()
    tenants.vgpu("rm", "a")
    assert tenants.vgpu("show", "a", check=False).returncode == 1
