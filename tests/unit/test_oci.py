# SPDX-License-Identifier: Apache-2.0
"""Goldens of what a container gets. Run this file as a program to write them anew."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from vgpu.oci.config import Container, Process, config
from vgpu.oci.edits import apply, edits, quiet_params, with_params

GOLDEN = Path(__file__).parent / "golden"
NODES = edits("/run/vgpu/a", ["nvidiactl", "nvidia1", "nvidia0", "nvidia-uvm"])


def run_on_host() -> dict[str, Any]:
    process = Process(["nvidia-smi", "-L"], "/srv/work", {"PATH": "/usr/bin", "A": "b=c"})
    return apply(config(Container("a", "/stage/root", True, "/vgpu/a-1", process)), NODES)


def run_on_rootfs() -> dict[str, Any]:
    process = Process(["/client"], "/", {}, uid=1000, gid=100, terminal=True)
    container = Container("a", "/srv/image", False, "/vgpu/a-2", process, visible=["/tmp/tree"])
    return apply(config(container), NODES)


def foreign() -> dict[str, Any]:
    """As an engine writes it for an image that asks for every GPU."""
    return apply(json.loads((GOLDEN / "foreign.json").read_text()), NODES)


GOLDENS = {"run-host": run_on_host, "run-rootfs": run_on_rootfs, "foreign-edited": foreign}


def text(found: dict[str, Any]) -> str:
    return json.dumps(found, indent=2) + "\n"


@pytest.mark.parametrize("name", GOLDENS)
def test_golden(name: str) -> None:
    assert text(GOLDENS[name]()) == (GOLDEN / f"{name}.json").read_text()


@pytest.mark.parametrize("name", GOLDENS)
def test_no_way_to_a_raw_node(name: str) -> None:
    found = GOLDENS[name]()
    linux = found["linux"]
    assert not [it for it in linux.get("devices", []) if it["path"].startswith("/dev/nvidia")]
    rules = linux["resources"]["devices"]
    assert rules[0] == {"allow": False, "access": "rwm"}
    assert not [rule for rule in rules if rule["allow"] and rule.get("major") in (None, 195, 511)]
    sources = [it["source"] for it in found["mounts"] if it["destination"].startswith("/dev/nvi")]
    assert sources == [f"/run/vgpu/a/{name}" for name, _ in sorted(BINDS.items())]


BINDS = {Path(source).name: destination for source, destination in NODES.binds}


def test_the_config_given_stays_as_it_is() -> None:
    given = json.loads((GOLDEN / "foreign.json").read_text())
    before = copy.deepcopy(given)
    apply(given, NODES)
    assert given == before


def test_twice_is_once() -> None:
    assert apply(foreign(), NODES) == foreign()


def test_a_config_with_nothing_in_it() -> None:
    found = apply({}, NODES)
    assert [it["destination"] for it in found["mounts"]] == sorted(BINDS.values())


def test_other_gpus_are_masked() -> None:
    assert {"/proc/driver/nvidia/gpus", "/proc/kcore"} <= set(foreign()["linux"]["maskedPaths"])


def test_environment_of_the_image_adds_no_node() -> None:
    """T-SEC1: what the image asks for has no say."""
    found = foreign()
    assert "NVIDIA_VISIBLE_DEVICES=all" in found["process"]["env"]
    assert len([it for it in found["mounts"] if it["destination"].startswith("/dev/nvidia")]) == 4


def test_params_are_covered_by_a_hook() -> None:
    given = foreign()
    found = with_params(given, "/stage/params", "/stage/root", "/usr/bin/mount")
    (hook,) = found["hooks"]["createContainer"]
    assert hook["args"][-2:] == ["/stage/params", "/stage/root/proc/driver/nvidia/params"]
    assert "hooks" not in given


def test_params_say_that_nodes_are_not_to_be_touched() -> None:
    text = "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 1\nDeviceFileUID: 0\n"
    assert quiet_params(text).splitlines()[1] == "ModifyDeviceFiles: 0"


if __name__ == "__main__":
    for name, make in GOLDENS.items():
        (GOLDEN / f"{name}.json").write_text(text(make()))
