# SPDX-License-Identifier: Apache-2.0
"""What nvidia-smi, NVML and CUDA show through a slice: T-SMI1 to 4."""

from __future__ import annotations

import json
import re

import pytest
from tenants import CUDA, GiB, MiB, Tenants

QUERY = ("nvidia-smi", "--format=csv,noheader,nounits")


def same_but_for_the_slice(text: str) -> str:
    """nvidia-smi's answer without the clock and the memory column."""
    text = re.sub(r"^\w{3} \w{3} [ \d]\d .*\d{4} *$", "DATE", text, flags=re.MULTILINE)
    return re.sub(r" *\d+MiB / *\d+MiB", "MEMORY", text)


def test_t_smi1_a_container_sees_its_own_processes_by_its_own_pids(tenants: Tenants) -> None:
    """T-SMI1: pids are the reader's; another tenant's processes are not shown."""
    tenants.create("a", "2GiB")
    tenants.create("b", "2GiB")
    other = tenants.popen("b", *CUDA, "hold")
    other.wait_output(r"\{.*\}")
    script = (
        f"{' '.join(CUDA)} hold < <(sleep infinity) & pid=$!; "
        f"until {' '.join(QUERY)} --query-compute-apps=pid | grep -q .; do :; done; "
        f"echo $pid; {' '.join(QUERY)} --query-compute-apps=pid,used_memory"
    )
    pid, *apps = tenants.run("a", "bash", "-c", script).stdout.splitlines()
    assert [app.split(", ")[0] for app in apps] == [pid]
    assert int(apps[0].split(", ")[1]) >= 64
    other.kill_group()
    other.wait()


def test_t_smi2_memory_is_the_slice(tenants: Tenants) -> None:
    """T-SMI2: total is the limit, used is what the tenant uses; nothing runs, nothing is used."""
    tenants.create("a", "3GiB")
    tenants.create("b", "2GiB")
    other = tenants.popen("b", *CUDA, "hold", "--size", "1GiB")
    other.wait_output(r"\{.*\}")
    memory = (*QUERY, "--query-gpu=memory.total,memory.used,memory.free")
    assert tenants.run("a", *memory).stdout.split(", ")[:2] == ["3072", "0"]
    script = (
        f"{' '.join(CUDA)} hold --size 512MiB < <(sleep infinity) > /tmp/held & "
        f"until grep -q held /tmp/held; do :; done; {' '.join(memory)}"
    )
    total, occupied, free = map(int, tenants.run("a", "bash", "-c", script).stdout.split(", "))
    assert total == 3072
    assert 512 <= occupied <= 1024
    assert total == occupied + free
    other.kill_group()
    other.wait()


def test_t_smi3_the_same_for_every_user(tenants: Tenants) -> None:
    """T-SMI3: root and another user see the same numbers; there is nothing shared to own."""
    tenants.create("a", "1GiB")
    as_root = same_but_for_the_slice(tenants.run("a", "nvidia-smi").stdout)
    user = ("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "nvidia-smi")
    as_user = tenants.run("a", *user)
    assert same_but_for_the_slice(as_user.stdout) == as_root
    assert "1024MiB" in as_user.stdout


def test_t_smi4_nothing_of_ours_is_printed(tenants: Tenants) -> None:
    """T-SMI4: byte for byte what the driver's own node gives, but for the slice."""
    tenants.create("a", "1GiB")
    direct = tenants.vm.run(["nvidia-smi"], check=True)
    through = tenants.run("a", "nvidia-smi")
    assert through.stderr == direct.stderr == ""
    assert same_but_for_the_slice(through.stdout) == same_but_for_the_slice(direct.stdout)
    assert " 0MiB /  1024MiB" in through.stdout


@pytest.mark.parametrize("command", ["nvidia-smi -L", "nvidia-smi -q -d UTILIZATION,ECC,PIDS"])
def test_other_answers_are_native(tenants: Tenants, command: str) -> None:
    tenants.create("a", "1GiB")
    direct = tenants.vm.run(command, check=True).stdout
    through = tenants.run("a", "sh", "-c", command).stdout
    strip = re.compile(r"^Timestamp.*$", re.MULTILINE)
    assert strip.sub("", through) == strip.sub("", direct)


def test_pynvml_direct_and_through_a_slice(tenants: Tenants) -> None:
    tenants.create("a", "1GiB")
    program = (
        "import json, pynvml as n; n.nvmlInit(); h = n.nvmlDeviceGetHandleByIndex(0); "
        "m = n.nvmlDeviceGetMemoryInfo(h); print(json.dumps({"
        "'count': n.nvmlDeviceGetCount(), 'name': n.nvmlDeviceGetName(h), "
        "'uuid': n.nvmlDeviceGetUUID(h), 'bus': n.nvmlDeviceGetPciInfo(h).busId, "
        "'driver': n.nvmlSystemGetDriverVersion(), 'total': m.total, 'used': m.used}))"
    )
    words = ("/usr/bin/python3", "-c", program)
    direct = json.loads(tenants.vm.run(list(words), check=True).stdout)
    through = json.loads(tenants.run("a", *words).stdout)
    assert through.pop("total") == GiB
    assert through.pop("used") == 0
    assert direct.pop("total") == 16 * GiB
    direct.pop("used")
    assert through == direct


def test_cuda_direct_and_through_a_slice(tenants: Tenants) -> None:
    tenants.create("a", "2GiB")
    direct = json.loads(tenants.vm.run([*CUDA, "info"], check=True).stdout)
    through = json.loads(tenants.run("a", *CUDA, "info").stdout)
    assert through["total"] == through["total_mem"] == 2 * GiB
    for name in ("devices", "name", "uuid"):
        assert through[name] == direct[name]
    assert tenants.run("a", *CUDA, "copy", "--size", "8MiB").stdout.count('"same": true') == 1
    assert 2 * GiB - through["free"] < 512 * MiB
