# SPDX-License-Identifier: Apache-2.0
import json
import sys
from collections.abc import Callable

import pytest
from fakes import GIB, GPUS, MIB, FakeHost, tenant, without_driver

import vgpu.cli.calibrate
import vgpu.cli.check
import vgpu.cli.run
import vgpu.cli.slices
from vgpu.cli import main
from vgpu.errors import VgpuError
from vgpu.manager import Manager, RunOptions
from vgpu.model import DriverState

Vgpu = Callable[..., tuple[int, str, str]]


@pytest.fixture
def host() -> FakeHost:
    return FakeHost()


@pytest.fixture
def vgpu_(
    host: FakeHost, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Vgpu:
    """Runs the command as a shell would: exit code, stdout, stderr."""

    def manager() -> Manager:
        return Manager(lambda: host, lambda: host.inventory, host.dump, host, lambda: host)

    for module in (vgpu.cli.calibrate, vgpu.cli.check, vgpu.cli.run, vgpu.cli.slices):
        monkeypatch.setattr(module, "Manager", manager)

    def call(*args: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["vgpu", *args])
        with pytest.raises(SystemExit) as end:
            main.run()
        out, err = capsys.readouterr()
        return int(end.value.code or 0), out, err

    return call


def test_create_list_rm(vgpu_: Vgpu) -> None:
    assert vgpu_("create", "a", "--gpu", "0", "--memory", "4GiB") == (0, "a: 4 GiB of GPU 0\n", "")
    code, out, err = vgpu_("list", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == [
        {
            "name": "a",
            "gpus": [
                {
                    "gpu": 0,
                    "uuid": GPUS[0].id.uuid,
                    "memory_max": 4 * GIB,
                    "memory_current": 3 * MIB,
                    "memory_peak": 5 * MIB,
                    "refusals": 7,
                }
            ],
        }
    ]
    assert vgpu_("rm", "a") == (0, "", "")
    assert vgpu_("list", "--json") == (0, "[]\n", "")


def test_list_for_people(vgpu_: Vgpu) -> None:
    vgpu_("create", "training", "--gpu", "1", "--memory", "4GiB", "--gpu", "0", "--memory", "1GiB")
    assert vgpu_("list")[1].splitlines() == [
        "NAME      GPU  MEMORY  USED   PEAK   REFUSED",
        "training  1    4 GiB   3 MiB  5 MiB  7",
        "training  0    1 GiB   3 MiB  5 MiB  7",
    ]


def test_create_as_json(vgpu_: Vgpu) -> None:
    code, out, _ = vgpu_("create", "a", "--gpu", GPUS[1].pci, "--memory", "1GiB", "--json")
    assert code == 0
    assert json.loads(out) == {
        "name": "a",
        "gpus": [{"gpu": 1, "uuid": GPUS[1].id.uuid, "memory_max": GIB}],
    }


def test_overcommit_is_said_and_never_guessed(vgpu_: Vgpu, host: FakeHost) -> None:
    vgpu_("create", "a", "--gpu", "0", "--memory", "1GiB")
    vgpu_("create", "b", "--gpu", "0", "--memory", "1GiB", "--overcommit")
    assert [call for call in host.calls if call[0] == "create"] == [
        ("create", "a", False),
        ("create", "b", True),
    ]


@pytest.mark.parametrize(
    "args",
    [
        ("create", "a"),
        ("create", "a", "--gpu", "0"),
        ("create", "a", "--memory", "1GiB"),
        ("create", "--gpu", "0", "--memory", "1GiB"),
        ("create", "a", "--gpu", "0", "--memory", "1GiB", "--memory", "2GiB"),
        ("create", "a", "--gpu", "0", "--memory", "lots"),
        ("create", "a", "--gpu", "0", "--memory", "0GiB"),
        ("create", "a", "--gpu", "0", "--memory", "-1GiB"),
        ("create", "A", "--gpu", "0", "--memory", "1GiB"),
        ("create", "a", "b", "--gpu", "0", "--memory", "1GiB"),
        ("create", "a", "--gpu", "0", "--memory", "1GiB", "--cores", "3"),
        ("create", "a", "--gpu", "0", "--memory", "1GiB", "--gpu", "0", "--memory", "1GiB"),
        ("calibrate",),
        ("calibrate", "0"),
        ("list", "a"),
        ("rm",),
        ("rm", "--all"),
        ("show", "../a"),
        ("run", "a"),
        ("run", "a", "--"),
        ("run", "a", "--env", "X", "--", "true"),
        ("run", "a", "--user", "root", "--", "true"),
        ("run", "a", "--rootfs"),
        ("frobnicate",),
    ],
)
def test_usage_errors_exit_2_and_do_nothing(
    vgpu_: Vgpu, host: FakeHost, args: tuple[str, ...]
) -> None:
    code, out, err = vgpu_(*args)
    assert (code, out, host.calls) == (2, "", [])
    assert "Error: " in err
    assert "Traceback" not in err


def test_refusal_is_fact_and_hint(vgpu_: Vgpu) -> None:
    assert vgpu_("rm", "a") == (
        1,
        "",
        "Error: a: no tenant of that name\nHint: see 'vgpu list'\n",
    )


@pytest.mark.parametrize("args", [("create", "a", "--gpu", "7", "--memory", "1GiB"), ("show", "a")])
def test_failures_exit_1(vgpu_: Vgpu, args: tuple[str, ...]) -> None:
    code, out, err = vgpu_(*args)
    assert (code, out) == (1, "")
    assert err.startswith("Error: ")
    assert "\nHint: " in err


def test_calibrate(vgpu_: Vgpu) -> None:
    assert vgpu_("calibrate", "--gpu", "1") == (0, "GPU 1: 1 MiB a channel, 4 MiB a context\n", "")
    code, out, _ = vgpu_("calibrate", "--gpu", "1", "--json")
    assert (code, json.loads(out)["channel_bytes"]) == (0, MIB)


def test_create_notes_that_a_gpu_cannot_be_measured(vgpu_: Vgpu, host: FakeHost) -> None:
    host.measure_error = VgpuError("GPU 0 cannot be measured: other programs use it", "wait")
    code, out, err = vgpu_("create", "a", "--gpu", "0", "--memory", "1GiB")
    assert (code, out) == (0, "a: 1 GiB of GPU 0\n")
    assert err == "Note: GPU 0 cannot be measured: other programs use it\nHint: wait\n"


def test_show(vgpu_: Vgpu, host: FakeHost) -> None:
    host.tenants["a"] = tenant(1, "a", [(GPUS[0], 4 * GIB)])
    code, out, err = vgpu_("show", "a", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert (found["enforced"], found["reason"], found["files"]) == (True, "", 0)
    (gpu,) = found["gpus"]
    assert (gpu["node"], gpu["pci"]) == ("/dev/nvidia0", GPUS[0].pci)
    assert gpu["memory_current"] == sum(
        gpu[f"memory_{kind}"] for kind in ("buffers", "contexts", "managed")
    )
    assert "memory    3 MiB of 4 GiB" in vgpu_("show", "a")[1]


def test_show_exits_1_when_limits_are_not_enforced(vgpu_: Vgpu, host: FakeHost) -> None:
    """T-MEM6: the driver is one that the module refuses."""
    host.tenants["a"] = tenant(1, "a", [(GPUS[0], GIB)], reason="driver 999.1 is not in the tables")
    code, out, err = vgpu_("show", "a")
    assert code == 1
    assert "enforced    no: driver 999.1 is not in the tables" in out
    assert "not in the tables" in err
    code, out, _ = vgpu_("show", "a", "--json")
    assert (code, json.loads(out)["enforced"]) == (1, False)


@pytest.mark.parametrize("args", [("show", "a"), ("list",), ("check",), ("rm", "a")])
def test_module_absent(
    args: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """T-MEM6: no module, no answer that could be taken for an enforced limit."""
    monkeypatch.setattr("vgpu.device.ControlDevice.__init__.__defaults__", ("/dev/no-vgpuctl",))
    monkeypatch.setattr(sys, "argv", ["vgpu", *args])
    with pytest.raises(SystemExit) as end:
        main.run()
    assert end.value.code == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "the vgpu module is not loaded, so nothing is enforced" in err


def test_list_without_driver(vgpu_: Vgpu, host: FakeHost) -> None:
    host.tenants["a"] = tenant(1, "a", [(GPUS[0], GIB)])
    host.inventory = without_driver().inventory
    assert json.loads(vgpu_("list", "--json")[1])[0]["gpus"][0]["gpu"] is None
    assert GPUS[0].id.uuid in vgpu_("list")[1]


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (DriverState.QUALIFIED, 0),
        (DriverState.UNQUALIFIED, 0),
        (DriverState.ABSENT, 1),
        (DriverState.REFUSED, 1),
    ],
)
def test_check(vgpu_: Vgpu, host: FakeHost, state: DriverState, code: int) -> None:
    host.state, host.reason = state, "" if code == 0 else "because"
    found, out, err = vgpu_("check", "--json")
    assert (found, json.loads(out)["enforced"]) == (code, code == 0)
    assert ("because" in err) == (code == 1)


@pytest.mark.parametrize(
    ("args", "command", "options"),
    [
        (["a", "true"], ("true",), RunOptions()),
        (["a", "--", "ls", "-l", "--", "x"], ("ls", "-l", "--", "x"), RunOptions()),
        (["a", "ls", "-e", "--user", "7"], ("ls", "-e", "--user", "7"), RunOptions()),
        (
            ["--user", "1000", "a", "-e", "A=b=c", "--env=D=", "--rootfs", "/r", "--", "sh"],
            ("sh",),
            RunOptions(rootfs="/r", env={"A": "b=c", "D": ""}, uid=1000, gid=1000),
        ),
        (["a", "--user", "1:2", "sh"], ("sh",), RunOptions(uid=1, gid=2)),
    ],
)
def test_run_arguments(
    vgpu_: Vgpu,
    monkeypatch: pytest.MonkeyPatch,
    args: list[str],
    command: tuple[str, ...],
    options: RunOptions,
) -> None:
    called = []

    def run(self: Manager, *args: object) -> int:
        called.append(args)
        return 42

    monkeypatch.setattr(Manager, "run", run)
    assert vgpu_("run", *args) == (42, "", "")
    assert called == [("a", command, options)]


def test_expected_errors_have_no_traceback(vgpu_: Vgpu, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Manager) -> None:
        raise VgpuError("a fact")

    monkeypatch.setattr(Manager, "list", refuse)
    assert vgpu_("list") == (1, "", "Error: a fact\n")


def test_start_is_cheap() -> None:
    """Nothing of NVML and netlink is imported for a command that fails on its arguments."""
    import subprocess

    code = "import sys, vgpu.cli.main, vgpu.cli.slices, vgpu.cli.run; print(*sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    assert not {"pynvml", "pyroute2", "vgpu.container", "vgpu.netlink"} & set(found)
