# SPDX-License-Identifier: Apache-2.0
"""'vgpu run' in the guest: what is in the container, what comes out of it, and how it ends."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from guest.boot import Guest
from guest.image import TREE


@pytest.fixture(autouse=True)
def tenant(vm: Guest) -> Iterator[None]:
    """One for all tests of a guest: a command costs seconds there."""
    vm.run("test -d /run/vgpu/a || vgpu create a --gpu 0 --memory 4GiB", check=True)
    yield
    assert vm.run("pgrep -x runc").stdout == ""


def inside(vm: Guest, script: str, *options: str) -> str:
    return vm.vgpu("run", "a", *options, "--", "sh", "-c", script).check().stdout


def test_output_and_exit_code_come_through(vm: Guest) -> None:
    done = vm.vgpu("run", "a", "--", "sh", "-c", "cat; echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "out\n", "err\n")


def test_input_goes_in(vm: Guest) -> None:
    assert vm.run("printf 'one two' | vgpu run a -- wc -w").stdout.strip() == "2"


def test_only_the_nodes_of_the_tenant_are_there(vm: Guest) -> None:
    """T-CDI3, and other GPUs are not told of by /proc either."""
    found = inside(
        vm,
        "cd /dev && find . -name '*nvidia*' -o -name vgpuctl -o -type b | sort"
        " && ls /proc/driver/nvidia/gpus && cat /proc/driver/nvidia/registry; ls /sys/kernel/debug;"
        " grep -h Modify /proc/driver/nvidia/params; echo x > /proc/driver/nvidia/params; true",
    )
    assert found.splitlines() == [
        *("./nvidia-uvm", "./nvidia0", "./nvidiactl"),
        "ModifyDeviceFiles: 0",
    ]


def test_root_is_read_only_and_the_tree_is_in_it(vm: Guest) -> None:
    # A tree below /tmp is visible there, and nothing else is.
    top = Path(*TREE.parts[:3])
    script = f"""
        pwd; cat README.md | head -1; ls /run; find /tmp -mindepth 1 -maxdepth 1 ! -path {top}
        touch /tmp/own && rm /tmp/own && echo tmp
        for place in / /etc {TREE} /var/tmp; do touch $place/x 2>/dev/null && echo $place; done
        true
    """
    found = vm.vgpu("run", "a", "--", "sh", "-c", script, cwd=TREE).check().stdout
    assert found.splitlines() == [str(TREE), "# vgpu", "tmp"]


def test_a_working_directory_below_tmp_is_kept(vm: Guest) -> None:
    vm.run("mkdir -p /tmp/work/sub && echo here > /tmp/work/sub/file", check=True)
    script = "pwd; cat file; touch x 2>/dev/null && echo writable; ls /tmp"
    found = vm.vgpu("run", "a", "--", "sh", "-c", script, cwd="/tmp/work/sub").check().stdout
    assert found.split() == ["/tmp/work/sub", "here", "work"]


def test_processes_are_its_own(vm: Guest) -> None:
    found = inside(vm, "hostname; id -u; ls -d /proc/[0-9]* | wc -l; cat /proc/self/cgroup")
    name, uid, count, group = found.split()
    assert (name, uid, group) == ("a", "0", "0::/")
    assert int(count) < 6


def test_environment_and_user(vm: Guest) -> None:
    command = "A=1 vgpu run --user 1000:100 a -e B='2 3' -- sh -c 'echo $A $B; id -u; id -g'"
    assert vm.run(command, check=True).stdout.split() == ["1", "2", "3", "1000", "100"]
    assert "4096" in inside(vm, "nvidia-smi", "--user", "1000")


def test_rootfs(vm: Guest) -> None:
    """A directory with nothing in it but a static program."""
    vm.run(
        "mkdir -p /tmp/image/bin && cp /bin/busybox /tmp/image/bin/"
        " && ln -sf busybox /tmp/image/bin/sh",
        check=True,
    )
    script = "busybox env | busybox sort; cd /dev && busybox ls; : > /new; busybox ls /"
    found = vm.run(
        ["env", "SECRET=1", "vgpu", "run", "a", "--rootfs", "/tmp/image", "--", "sh", "-c", script],
        check=True,
    ).stdout.split()
    assert "SECRET=1" not in found
    assert {"nvidiactl", "nvidia0", "nvidia-uvm", "new", "bin"} <= set(found)
    assert vm.run("test -e /tmp/image/new").returncode == 0


def test_no_such_rootfs_command_or_tenant(vm: Guest) -> None:
    for args in (
        ("a", "--rootfs", "/nowhere", "--", "sh"),
        ("a", "--", "/no/such/command"),
        ("b", "--", "true"),
    ):
        done = vm.vgpu("run", *args)
        assert (done.returncode, done.stdout) == (1, ""), args
        assert "Traceback" not in done.stderr
        assert "level=" not in done.stderr
    assert "Error: b: no slice has this name" in done.stderr


def test_control_device_is_shut_inside(vm: Guest) -> None:
    """Not even with every capability and the host's own device node: the cgroup is known."""
    process = vm.popen(["vgpu", "run", "a", "--", "sh", "-c", "echo up; exec sleep 100"])
    process.wait_output("up")
    done = vm.run(
        "echo $$ > $(dirname /sys/fs/cgroup/vgpu/a-*/cgroup.procs)/cgroup.procs && vgpu list"
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "may not" in done.stderr or "outside of every slice" in done.stderr
    process.kill()
    process.wait()


def test_killed_run_takes_the_container_along(vm: Guest) -> None:
    process = vm.popen(["vgpu", "run", "a", "--", "sh", "-c", "echo up; exec sleep 12345"])
    process.wait_output("up")
    assert vm.run("pgrep -f 'sleep 12345$'").returncode == 0
    process.kill(signal.SIGKILL)
    process.wait()
    gone = "for i in $(seq 100); do pgrep -f 'sleep 12345$' >/dev/null || exit 0; sleep 0.1; done"
    assert vm.run(f"{gone}; exit 1").returncode == 0
    # What is left of the cgroup goes with the next run.
    inside(vm, "true")
    assert vm.run("find /sys/fs/cgroup/vgpu -mindepth 1 -type d").stdout == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_are_passed_on(vm: Guest, number: signal.Signals) -> None:
    script = f"trap 'echo got; exit 3' {number.name[3:]}; echo up; while :; do sleep 0.1; done"
    process = vm.popen(["vgpu", "run", "a", "--", "sh", "-c", script])
    process.wait_output("up")
    process.kill(number)
    done = process.wait()
    assert (done.returncode, done.stdout) == (3, "up\ngot\n")


def test_calibrate_measures_what_the_simulator_takes(vm: Guest) -> None:
    """1 MiB a channel and 4 MiB a context unless nvsim is told otherwise."""
    found = vm.json(["vgpu", "calibrate", "--gpu", "0", "--json"])
    for name in ("channel_bytes", "context_bytes"):
        assert found[name] == int(vm.get(f"/sys/module/nvsim/parameters/{name}"))
    assert vm.used() == 0


def test_commands_as_a_person_types_them(vm: Guest) -> None:
    assert vm.vgpu("check").check().stdout.splitlines()[-1] == "enforced  yes"
    assert vm.vgpu("list").check().stdout.splitlines()[1].split()[:4] == ["a", "0", "4", "GiB"]
    shown = vm.json("vgpu show a --json")
    assert (shown["enforced"], shown["gpus"][0]["node"]) == (True, "/dev/nvidia0")
    taken = vm.vgpu("create", "a", "--gpu", "0", "--memory", "1GiB")
    assert (taken.returncode, taken.stdout) == (1, "")
    assert "Error: a: " in taken.stderr
    much = vm.vgpu("create", "b", "--gpu", "0", "--memory", "12GiB")
    assert much.returncode == 1
    assert "--overcommit" in much.stderr
    vm.vgpu("create", "b", "--gpu", "0", "--memory", "12GiB", "--overcommit").check()
    vm.vgpu("rm", "b").check()
    assert vm.run("ls /run/vgpu; mount -t vgpufs | wc -l").stdout.split() == ["a", "1"]
