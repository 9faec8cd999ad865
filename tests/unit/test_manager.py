# SPDX-License-Identifier: Apache-2.0
import os
from pathlib import Path

import pytest
from fakes import GIB, GPUS, MIB, FakeHost, without_driver

from vgpu.errors import UsageError, VgpuError
from vgpu.manager import Manager, RunOptions, _environment, _working_directory
from vgpu.model import Calibration, DriverState, SliceRequest


def manager(host: FakeHost) -> Manager:
    return Manager(
        control=lambda: host,
        inventory=lambda: host.inventory,
        dump=host.dump,
        node_mounts=host,
        calibrations=lambda: host,
    )


def test_create_then_mount() -> None:
    host = FakeHost()
    specs = manager(host).create("a", [SliceRequest("1", GIB), SliceRequest("0", 2 * GIB)])
    assert [spec.gpu for spec in specs] == [GPUS[1], GPUS[0]]
    assert host.effects() == [("create", "a", False), ("unmount", "a"), ("mount", "a")]


def test_create_is_undone_when_nodes_cannot_be_mounted() -> None:
    host = FakeHost(mount_error=VgpuError("no"))
    with pytest.raises(VgpuError, match="no"):
        manager(host).create("a", [SliceRequest("0", GIB)])
    assert host.effects() == [("create", "a", False), ("unmount", "a"), ("remove", "a")]
    assert not host.tenants


@pytest.mark.parametrize("name", ["", "A", "-a", "../a", "a/b", ".a", "a" * 64, "a\n", "é", "a b"])
def test_names(name: str) -> None:
    host = FakeHost()
    for step in (
        lambda: manager(host).create(name, [SliceRequest("0", GIB)]),
        lambda: manager(host).remove(name),
        lambda: manager(host).show(name),
        lambda: manager(host).run(name, ["true"], RunOptions()),
    ):
        with pytest.raises(UsageError, match="cannot be a name"):
            step()
    assert not host.calls


def test_one_gpu_twice() -> None:
    host = FakeHost()
    with pytest.raises(UsageError, match="twice"):
        manager(host).create("a", [SliceRequest("0", GIB), SliceRequest(GPUS[0].pci, GIB)])
    assert not host.calls


@pytest.mark.parametrize("host", [without_driver(), FakeHost(state=DriverState.REFUSED)])
def test_nothing_is_handed_out_where_nothing_is_enforced(host: FakeHost) -> None:
    with pytest.raises(VgpuError, match="nothing is enforced"):
        manager(host).create("a", [SliceRequest("0", GIB)])
    assert not host.calls


def test_reason_of_the_module_comes_through() -> None:
    host = FakeHost(state=DriverState.REFUSED, reason="driver 999.1 is not in the tables")
    with pytest.raises(VgpuError, match=r"driver 999\.1 is not in the tables"):
        manager(host).create("a", [SliceRequest("0", GIB)])


def test_the_first_create_on_a_gpu_measures_it() -> None:
    host = FakeHost()
    told = ("calibrate", GPUS[0].id.uuid, "535.309.01", MIB, 4 * MIB)
    manager(host).create("a", [SliceRequest("0", GIB)])
    assert host.calls == [
        ("measure", 0),
        told,
        ("create", "a", False),
        ("unmount", "a"),
        ("mount", "a"),
    ]
    manager(host).create("b", [SliceRequest("0", GIB)])
    assert host.calls[5:] == [told, ("create", "b", False), ("unmount", "b"), ("mount", "b")]


def test_a_gpu_that_cannot_be_measured_is_no_reason_to_refuse() -> None:
    host = FakeHost(measure_error=VgpuError("in use"))
    notes = []
    manager(host).create("a", [SliceRequest("0", GIB)], note=notes.append)
    assert host.calls == [("create", "a", False), ("unmount", "a"), ("mount", "a")]
    assert notes == [host.measure_error]
    assert not host.calibrations


def test_calibrate_measures_again() -> None:
    host = FakeHost(calibrations={("535.309.01", GPUS[1].name): Calibration(1, 1)})
    gpu, found = manager(host).calibrate(GPUS[1].pci)
    assert (gpu, found) == (GPUS[1], Calibration(MIB, 4 * MIB))
    assert host.kept("535.309.01", GPUS[1].name) == found
    host.measure_error = VgpuError("in use")
    with pytest.raises(VgpuError, match="in use"):
        manager(host).calibrate("1")
    assert host.kept("535.309.01", GPUS[1].name) == found


def test_remove() -> None:
    host = FakeHost()
    manager(host).create("a", [SliceRequest("0", GIB)])
    manager(host).remove("a")
    assert host.effects()[3:] == [("remove", "a"), ("unmount", "a")]
    with pytest.raises(VgpuError, match="no tenant"):
        manager(host).remove("a")
    assert len(host.effects()) == 5


def test_show() -> None:
    host = FakeHost()
    manager(host).create("a", [SliceRequest("0", GIB)])
    assert manager(host).show("a").name == "a"
    with pytest.raises(VgpuError, match="b: no slice has this name"):
        manager(host).show("b")


def test_working_directory(tmp_path: Path) -> None:
    assert _working_directory("/srv/tree/sub") == ("/srv/tree/sub", [])
    assert _working_directory("/") == ("/", [])
    assert _working_directory("/devel") == ("/devel", [])
    assert _working_directory("/tmp") == ("/tmp", [])
    assert _working_directory("/run/user/0") == ("/", [])
    assert _working_directory("/tmp/no-mount/sub") == ("/tmp/no-mount/sub", ["/tmp/no-mount/sub"])


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"A": "1", "B": "2", "TERM": "vt100"})
    options = RunOptions(env={"B": "3"})
    assert _environment(options, inherit=True) == {"A": "1", "B": "3", "TERM": "vt100"}
    own = _environment(options, inherit=False)
    assert "A" not in own
    assert (own["B"], own["TERM"], own["HOME"]) == ("3", "vt100", "/")
