# SPDX-License-Identifier: Apache-2.0
"""What was taken is given back, once, whatever ends the taker: T-ACC1, 2, 3, 5."""

from __future__ import annotations

import json
import random
import time

import pytest
from guest.image import TREE
from tenants import CUDA, GiB, MiB, Tenants, client, lines
from vmtest.vm import Process

HELD = r"\{.*\}"


def test_t_acc1_no_order_of_calls_makes_the_books_wrong(tenants: Tenants) -> None:
    """T-ACC1: double frees, absurd sizes and a full slice: free is limit less used, and never more.

    Ring 0 does this against an oracle; here the driver's books are the oracle.
    """
    tenants.create("a", "256MiB")
    seed = random.randrange(1 << 32)
    print("seed", seed)
    program = ("/usr/bin/python3", str(TREE / "tests/clients/unruly.py"), str(seed), "1500")
    process = tenants.popen("a", *program)
    said = json.loads(process.wait_output(HELD, timeout=300)[0])
    ledger = tenants.ledger("a")
    assert said["total"] == ledger["memory_max"] == 256 * MiB
    assert said["held"] == ledger["memory_current"] == tenants.used()
    assert said["free"] == 256 * MiB - said["held"]
    assert 0 <= said["lowest"] <= said["highest"] <= 256 * MiB
    assert ledger["memory_peak"] <= 256 * MiB
    assert ledger["refusals"] > 0
    process.close_stdin()
    assert process.wait().returncode == 0
    assert tenants.left("a") == (0, 0)


def sees_what_remains(tenants: Tenants, process: Process) -> None:
    """The ledger may be above nvsim's books by what the last page of an allocation rounds to."""
    said = json.loads(process.wait_output(HELD)[0])
    assert said["total"] == 2 * GiB
    assert 0 <= 2 * GiB - said["free"] - tenants.used() < 16 * MiB


def test_t_acc2_each_process_sees_what_remains(tenants: Tenants) -> None:
    """T-ACC2: processes one after the other and at once see the true remainder."""
    tenants.create("a", "2GiB")
    for _ in range(3):
        one = tenants.popen("a", *CUDA, "hold", "--size", "256MiB")
        sees_what_remains(tenants, one)
        one.kill_group()
        one.wait()
        assert tenants.left("a") == (0, 0)
    holders = [tenants.popen("a", *CUDA, "hold", "--size", "128MiB") for _ in range(2)]
    for holder in holders:
        holder.wait_output(HELD)
    late = tenants.popen("a", *CUDA, "hold", "--size", "128MiB")
    sees_what_remains(tenants, late)
    for holder in (*holders, late):
        holder.kill_group()
        holder.wait()
    assert tenants.left("a") == (0, 0)


def test_t_acc3_one_dies_the_others_go_on_and_stay_charged(tenants: Tenants) -> None:
    """T-ACC3: killing one of three gives back what it held and nothing else."""
    tenants.create("a", "4GiB")
    holders = [tenants.popen("a", *CUDA, "hold", "--size", f"{128 * n}MiB") for n in (1, 2, 3)]
    for holder in holders:
        holder.wait_output(HELD)
    before = tenants.current("a")
    real = tenants.used()
    holders[1].kill_group()
    holders[1].wait()
    deadline = time.monotonic() + 60
    while real - tenants.used() < 256 * MiB:
        assert time.monotonic() < deadline
    # What is left on the ledger is what the others hold, as nvsim has it.
    while not 0 <= tenants.current("a") - tenants.used() < 16 * MiB:
        assert time.monotonic() < deadline
    assert before - tenants.current("a") >= 256 * MiB
    assert tenants.used() > 512 * MiB
    assert holders[0].poll() is None and holders[2].poll() is None
    for holder in holders:
        holder.kill_group()
        holder.wait()
    assert tenants.left("a") == (0, 0)


def test_t_acc5_ten_thousand_cycles_leave_nothing(tenants: Tenants) -> None:
    """T-ACC5: allocate and free, 10,000 times; then the tenant can still have all it may."""
    tenants.create("a", "256MiB")
    cycle, fill = lines(tenants.run("a", client("rm"), "cycle:2M:10000", "fill:2M").stdout)
    assert (cycle["done"], cycle["status"]) == (10000, 0)
    assert fill["done"] == 128
    assert tenants.ledger("a")["refusals"] == 1
    assert tenants.left("a") == (0, 0)


@pytest.mark.parametrize(
    ("rounds", "command"),
    [
        (300, (client("rm"), "alloc:2M:50", "compute:2", "dup:3", "fill:16M", "free")),
        (20, (*CUDA, "loop", "--count", "3")),
    ],
    ids=["raw", "libcuda"],
)
def test_t_acc5_kill_9_at_random_moments(
    tenants: Tenants, rounds: int, command: tuple[str, ...]
) -> None:
    """T-ACC5: whenever a program dies, the ledger and nvsim's books end at zero."""
    tenants.create("a", "2GiB")
    seed = random.randrange(1 << 32)
    print("seed", seed)
    killer = ("/usr/bin/python3", str(TREE / "tests/clients/kill.py"), str(rounds), str(seed))
    done = json.loads(tenants.run("a", *killer, *command, timeout=400).stdout)
    assert done["killed"] > rounds // 2
    assert tenants.ledger("a")["memory_peak"] > 0
    assert tenants.left("a") == (0, 0)
