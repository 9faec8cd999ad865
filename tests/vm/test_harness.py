# SPDX-License-Identifier: Apache-2.0
"""The harness itself: verdicts arrive as they are, and a lost guest is not a failed command."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from guest.boot import Guest
from guest.image import TREE
from vmtest import CommandTimeout, KernelComplaint, LostVM

# Needs neither module: the harness is tested also where they do not build.
pytestmark = pytest.mark.guest(vgpu=False, nvsim=False)


def scripts_vm(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [TREE / "scripts" / "vm", *arguments], capture_output=True, text=True, timeout=300
    )


def test_exit_code_and_output_pass_through(vm: Guest) -> None:
    result = vm.run("echo out; echo err >&2; exit 7")
    assert (result.returncode, result.stdout, result.stderr) == (7, "out\n", "err\n")


def test_a_signal_is_a_negative_exit_code(vm: Guest) -> None:
    assert vm.run("kill -9 $$").returncode == -signal.SIGKILL


def test_a_missing_command_fails_like_in_a_shell(vm: Guest) -> None:
    assert vm.run(["no-such-command"]).returncode == 127


def test_much_output_arrives_whole(vm: Guest) -> None:
    assert len(vm.run("head -c 3000000 /dev/zero | tr '\\0' x").stdout) == 3000000


def test_files_go_in_and_out(vm: Guest) -> None:
    data = bytes(range(256)) * 1000
    vm.put("/tmp/data", data)
    assert vm.get("/tmp/data") == data


def test_the_working_tree_is_at_its_own_path(vm: Guest) -> None:
    assert vm.run("pwd").stdout == f"{TREE}\n"
    assert vm.run(["cat", __file__]).stdout == Path(__file__).read_text()


def test_the_clock_is_right(vm: Guest) -> None:
    assert abs(float(vm.run("date +%s.%N").stdout) - time.time()) < 60


def test_timeout_kills_the_command_and_not_the_guest(vm: Guest) -> None:
    with pytest.raises(CommandTimeout):
        vm.run("echo started; sleep 1000 & sleep 1000", timeout=2)
    assert vm.run("pgrep sleep").returncode == 1


def test_background_process_can_be_killed(vm: Guest) -> None:
    process = vm.popen("echo ready; exec sleep 1000")
    process.wait_output("^ready$")
    assert process.poll() is None
    process.kill()
    assert process.wait().returncode == -signal.SIGKILL


def test_python_of_the_guest(vm: Guest) -> None:
    code = "import sys, cffi, click, pynvml, pyroute2, vgpu; print(sys.executable, vgpu.__file__)"
    result = vm.python(code.replace("cffi", "_cffi_backend"), check=True)
    assert result.stdout == f"/usr/bin/python3 {TREE}/vgpu/__init__.py\n"


def test_nvidia_user_space_is_on_the_default_paths(vm: Guest) -> None:
    code = "import ctypes; [ctypes.CDLL(n) for n in ('libcuda.so.1', 'libnvidia-ml.so.1')]"
    vm.python(code, check=True)
    assert vm.run("command -v nvidia-smi").stdout == "/usr/bin/nvidia-smi\n"


def test_kernel_warning_is_seen(boot: Callable[..., Guest]) -> None:
    guest = boot(vgpu=False, nvsim=False)
    guest.run("echo '<4>WARNING: CPU: 0 PID: 1 at a/test.c:1' > /dev/kmsg", check=True)
    with pytest.raises(KernelComplaint, match=r"a/test\.c:1"):
        guest.check_log()


def test_dead_kernel_is_a_lost_guest(boot: Callable[..., Guest]) -> None:
    guest = boot(vgpu=False, nvsim=False)
    with pytest.raises(LostVM, match="sysrq triggered crash"):
        guest.run("echo c > /proc/sysrq-trigger")


def test_sleep_costs_nothing_under_icount(boot: Callable[..., Guest]) -> None:
    guest = boot(vgpu=False, nvsim=False, icount=True)
    start = time.monotonic()
    result = guest.run("cat /proc/uptime; sleep 300; cat /proc/uptime", check=True)
    before, after = (float(line.split()[0]) for line in result.stdout.splitlines())
    assert after - before >= 300
    assert time.monotonic() - start < 200


def test_plain_boot_without_a_snapshot(boot: Callable[..., Guest]) -> None:
    assert boot(vgpu=False, nvsim=False, snapshot=False).run("true").returncode == 0


def test_scripts_vm_run() -> None:
    options = ["--no-vgpu", "--no-nvsim"]
    done = scripts_vm("run", *options, "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "out\n", "err\n")

    warn = "echo '<4>WARNING: CPU: 0 PID: 1 at a/test.c:1' > /dev/kmsg"
    done = scripts_vm("run", *options, "--", "sh", "-c", warn)
    assert done.returncode == 123
    assert "kernel complained" in done.stderr

    done = scripts_vm("run", *options, "--timeout", "1", "--", "sleep", "100")
    assert done.returncode == 124

    done = scripts_vm("run", *options, "--", "sh", "-c", "echo c > /proc/sysrq-trigger")
    assert done.returncode == 125
    assert "sysrq triggered crash" in done.stderr


def test_scripts_vm_run_in_another_directory() -> None:
    done = subprocess.run(
        [TREE / "scripts" / "vm", "run", "--no-vgpu", "--no-nvsim", "--", "pwd"],
        capture_output=True, text=True, cwd=TREE / "tests",
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, f"{TREE}/tests\n"), done.stderr


def test_shell_needs_a_terminal() -> None:
    done = subprocess.run(
        [TREE / "scripts" / "vm", "shell", "--no-vgpu", "--no-nvsim"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 125
    assert "Hint: use vm run" in done.stderr


def test_python_by_fork_is_python(vm: Guest) -> None:
    code = "import os, sys; print(sys.argv, os.getcwd(), os.environ['A']); sys.exit(3)"
    result = vm.python(code, "x", env={"A": "b"})
    assert (result.returncode, result.stdout) == (3, f"['-c', 'x'] {TREE} b\n"), result.stderr
    assert vm.python("import os; os.kill(os.getpid(), 9)").returncode == -signal.SIGKILL
    failed = vm.python("1/0")
    assert failed.returncode == 1
    assert "ZeroDivisionError" in failed.stderr
    assert vm.python("print(input())", input="hello\n").stdout == "hello\n"


def test_python_by_fork_dies_with_its_caller(vm: Guest) -> None:
    process = vm.popen(["pyfork", "-c", "import os, time; print(os.getpid(), flush=True)\n"
                        "time.sleep(1000)"])  # fmt: skip
    pid = process.wait_output(r"^\d+$")[0]
    process.kill()
    assert process.wait().returncode == -signal.SIGKILL
    vm.run(f"while [ -e /proc/{pid} ]; do sleep 0.05; done", check=True, timeout=60)


@pytest.mark.parametrize("prefix", ["PYFORK=0", "unshare -m", "setpriv --bounding-set=-sys_admin"])
def test_python_by_fork_steps_aside(vm: Guest, prefix: str) -> None:
    code = "import os; print(os.getppid() == int(os.environ['SHELL_PID']))"
    shell = f'SHELL_PID=$$ {prefix} pyfork -c "{code}"; true'
    assert vm.run(shell, check=True).stdout == "True\n"
