# SPDX-License-Identifier: Apache-2.0
"""The memory limit, from outside and from inside: T-MEM1, 2, 3, 5, 10."""

from __future__ import annotations

import json

from tenants import CUDA, GiB, MiB, Tenants, lines


def test_t_mem1_t_mem10_limit_holds_and_the_refusal_is_the_drivers_own(tenants: Tenants) -> None:
    """T-MEM1: what is taken never exceeds the limit. T-MEM10: CUDA says error 2 and goes on."""
    tenants.create("a", "2GiB")
    tenants.reset_peak()
    seen, after = lines(tenants.run("a", *CUDA, "alloc-until-refused", "--size", "16MiB").stdout)
    assert seen["refused"] == "CUDA_ERROR_OUT_OF_MEMORY" and seen["code"] == 2
    assert seen["total"] == 2 * GiB
    assert seen["allocated"] < tenants.peak() <= tenants.ledger("a")["memory_peak"] <= 2 * GiB
    assert tenants.ledger("a")["refusals"] >= 1
    # Refused only when less than one piece was left.
    assert int(str(seen["allocated"])) > int(str(seen["free"])) - 16 * MiB
    assert after["went_on"] is True
    assert tenants.left("a") == (0, 0)


def test_t_mem1_the_ledger_is_the_truth_while_memory_is_held(tenants: Tenants) -> None:
    tenants.create("a", "2GiB")
    holder = tenants.popen("a", *CUDA, "hold", "--size", "512MiB")
    said = json.loads(holder.wait_output(r"\{.*\}")[0])
    charged = tenants.current("a")
    real = tenants.used()
    assert real > 512 * MiB
    assert real <= charged <= 2 * GiB
    assert charged - real < 16 * MiB
    assert said["free"] == 2 * GiB - charged
    holder.kill_group()
    holder.wait()
    assert tenants.left("a") == (0, 0)


def test_t_mem2_a_container_in_the_container_is_the_same_tenant(tenants: Tenants) -> None:
    """T-MEM2: new namespaces and another user inside change nothing."""
    tenants.create("a", "2GiB")
    tenants.reset_peak()
    inner = " ".join(CUDA) + " alloc-until-refused --size 64MiB"
    nested = ("unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "sh", "-c")
    seen, _ = lines(tenants.run("a", *nested, inner).stdout)
    assert seen["total"] == 2 * GiB
    assert int(str(seen["allocated"])) <= 2 * GiB
    assert tenants.peak() <= 2 * GiB


def test_t_mem3_the_environment_has_no_power(tenants: Tenants) -> None:
    """T-MEM3: whatever a program sets, it sees and gets its slice."""
    tenants.create("a", "1GiB")
    variables = (
        "NVIDIA_VISIBLE_DEVICES=all",
        "CUDA_DEVICE_MEMORY_LIMIT=16g",
        "CUDA_DEVICE_MEMORY_LIMIT_0=0",
        "ALIYUN_COM_GPU_MEM_CONTAINER=16",
        "VGPU=16GiB",
        "LD_PRELOAD=",
    )
    (seen,) = lines(tenants.run("a", "env", *variables, *CUDA, "info").stdout)
    assert seen["total"] == GiB


def test_t_mem5_the_limit_is_of_the_tenant_not_of_a_process(tenants: Tenants) -> None:
    """T-MEM5: two processes share one limit."""
    tenants.create("a", "2GiB")
    tenants.reset_peak()
    first = tenants.popen("a", *CUDA, "hold", "--size", "768MiB")
    first.wait_output(r"\{.*\}")
    left = 2 * GiB - tenants.current("a")
    seen, _ = lines(tenants.run("a", *CUDA, "alloc-until-refused", "--size", "64MiB").stdout)
    assert int(str(seen["free"])) < left
    assert int(str(seen["allocated"])) < left
    assert tenants.peak() <= 2 * GiB
    first.kill_group()
    first.wait()
    assert tenants.left("a") == (0, 0)


def test_two_tenants_at_their_limits_side_by_side(tenants: Tenants) -> None:
    tenants.create("a", "1GiB")
    tenants.create("b", "3GiB")
    holder = tenants.popen("b", *CUDA, "hold", "--size", "2GiB")
    holder.wait_output(r"\{.*\}")
    seen, _ = lines(tenants.run("a", *CUDA, "alloc-until-refused", "--size", "32MiB").stdout)
    assert int(str(seen["total"])) == GiB
    assert int(str(seen["allocated"])) <= GiB
    assert tenants.ledger("a")["memory_peak"] <= GiB
    assert tenants.current("b") >= 2 * GiB
    assert sum(it["bytes"] for it in tenants.vm.books()) == tenants.used() <= 3 * GiB
    holder.kill_group()
    holder.wait()


def test_limits_never_sum_above_the_gpu(tenants: Tenants) -> None:
    """16 GiB less the driver's reserve: two of 8 GiB do not fit, and nothing is half made."""
    tenants.create("a", "8GiB")
    refused = tenants.vgpu("create", "b", "--gpu", "0", "--memory", "8GiB", check=False)
    assert refused.returncode == 1
    assert "Error: " in refused.stderr and "8 GiB" in refused.stderr
    assert [it["name"] for it in json.loads(tenants.vgpu("list", "--json").stdout)] == ["a"]
    tenants.create("b", "8GiB", options="--overcommit")
