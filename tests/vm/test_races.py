# SPDX-License-Identifier: Apache-2.0
"""A second thread that rewrites the argument while the call is under way gains nothing."""

from __future__ import annotations

import json

from tenants import GiB, MiB, Tenants, client


def spaces(tenants: Tenants, kind: str) -> int:
    """UVM VA spaces that nvsim has made: tied to a process ('own', where a driver would turn
    heterogeneous memory on) or 'shared' (multi-process mode, where it does not)."""
    return int(tenants.vm.get(f"/sys/kernel/debug/nvsim/uvm_spaces_{kind}"))


def test_heterogeneous_memory_stays_off(tenants: Tenants) -> None:
    tenants.create("a", "1GiB")
    own, shared = spaces(tenants, "own"), spaces(tenants, "shared")
    said = json.loads(tenants.run("a", client("race"), "uvm", "3000").stdout)
    assert said["pageable"] == 0
    assert spaces(tenants, "own") == own
    assert spaces(tenants, "shared") - shared == said["done"] > 100


def test_the_race_is_won_on_the_drivers_own_node(tenants: Tenants) -> None:
    """The test above can fail: without vgpu in between the same program gets what it wants."""
    own = spaces(tenants, "own")
    tenants.vm.run([client("race"), "uvm", "300"], check=True)
    assert spaces(tenants, "own") > own


def test_a_flickering_size_is_charged_as_it_was_taken(tenants: Tenants) -> None:
    """64 KiB and 1 GiB in turns, in a slice of 2 GiB: what the GPU gave is what is charged."""
    tenants.create("a", "2GiB")
    racer = tenants.popen("a", client("race"), "alloc", "3000")
    said = json.loads(racer.wait_output(r"\{.*\}", timeout=200)[0])
    assert said["done"] > 0
    assert tenants.used() == tenants.current("a") <= 2 * GiB
    racer.kill_group()
    racer.wait()
    assert tenants.left("a") == (0, 0)


def test_a_replaced_argument_takes_nothing_uncharged(tenants: Tenants) -> None:
    """Memory mapped over what the module passes to the driver costs the process its life."""
    tenants.create("a", "512MiB")
    racer = tenants.popen("a", client("race"), "replace", "3000")
    tenants.vm.wait_for(lambda: racer.returncode is not None or b"}" in racer.out, 200)
    assert tenants.used() <= tenants.current("a") <= 512 * MiB
    racer.kill_group()
    racer.wait()
    assert tenants.left("a") == (0, 0)
