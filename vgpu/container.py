# SPDX-License-Identifier: Apache-2.0
"""Starts runc and stays with it.

runc is the first process of a pid namespace and lives in a mount namespace of its own. Whatever
ends 'vgpu run', SIGKILL too, the kernel then ends runc, the container and every mount made for
it. Bundle and state are on a tmpfs in that mount namespace: nothing is left to be cleaned up.
"""

import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from vgpu import nodes, syscalls
from vgpu.errors import VgpuError
from vgpu.oci.config import OWN_DIRECTORIES
from vgpu.oci.edits import PARAMS, Config, quiet_params, with_params

# How long the container may take to end after 'vgpu run' was asked to.
GRACE_SECONDS = 10.0

_FORWARDED = {signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP}


@dataclass(frozen=True)
class Plan:
    """config makes the config.json for a root directory. Without rootfs it is the host's own."""

    id: str
    tenant: str
    rootfs: str | None
    config: Callable[[str], Config]


def find_runc() -> str:
    path = shutil.which("runc")
    if path is None:
        raise VgpuError("runc is not installed", "install it, on Debian with 'apt install runc'")
    return path


def run(plan: Plan) -> int:
    """The exit code of the container, 128 and more for a signal."""
    runc = find_runc()
    stage = os.path.join(nodes.base_directory(), ".stage")
    os.makedirs(stage, mode=0o700, exist_ok=True)
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED | {signal.SIGCHLD})
    failed_read, failed_write = os.pipe()
    alive_read, alive_write = os.pipe()
    syscalls.children_in_new_pid_namespace()
    child = os.fork()
    if child == 0:
        try:
            syscalls.die_with_parent()
            os.close(alive_write)
            _exit_if_orphan(alive_read)
            command = _stage(plan, stage, runc)
            # Python ignores these two, and what is ignored stays so across exec.
            for number in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, previous)
            os.execv(command[0], command)
        except OSError as error:
            os.write(failed_write, str(error).encode())
        finally:
            os._exit(1)
    os.close(failed_write)
    os.close(alive_read)
    with open(failed_read, "rb") as failed:
        fact = failed.read().decode()
    status = _wait(child)
    os.close(alive_write)
    signal.pthread_sigmask(signal.SIG_SETMASK, previous)
    if fact:
        raise VgpuError(f"{plan.tenant}: its container cannot be prepared: {fact}")
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


def _exit_if_orphan(alive: int) -> None:
    """The parent may have died before it could take us along. It never writes to the pipe."""
    os.set_blocking(alive, False)
    try:
        os.read(alive, 1)
    except BlockingIOError:
        return
    os._exit(1)


def _stage(plan: Plan, stage: str, runc: str) -> list[str]:
    """Lays out mounts, root and bundle; returns the command to become."""
    syscalls.private_mounts()
    # A copy of another tenant's mount would keep its file system alive as long as we run.
    for name in os.listdir(nodes.BASE):
        path = os.path.join(nodes.BASE, name)
        if name != plan.tenant and os.path.ismount(path):
            syscalls.umount(path)
    # runc looks up its children by the pids of its own namespace.
    syscalls.mount("proc", "/proc", "proc")
    syscalls.mount("tmpfs", stage, "tmpfs", 0, "mode=700")
    root = plan.rootfs
    if root is None:
        root = os.path.join(stage, "root")
        os.mkdir(root)
        syscalls.bind_tree("/", root)
        # What the container has of its own: the kernel refuses sysfs on top of sysfs.
        for path in (*OWN_DIRECTORIES, nodes.directory(plan.tenant), stage):
            while os.path.ismount(root + path):
                syscalls.umount(root + path)
        syscalls.read_only_tree(root)
    config = plan.config(root)
    mount = shutil.which("mount")
    if mount and os.path.exists(PARAMS):
        copied = os.path.join(stage, "params")
        with open(PARAMS) as source, open(copied, "w") as target:
            target.write(quiet_params(source.read()))
        config = with_params(config, copied, root, mount)
    bundle = os.path.join(stage, "bundle")
    os.mkdir(bundle)
    with open(os.path.join(bundle, "config.json"), "w") as file:
        json.dump(config, file)
    # Without a log of its own runc writes log lines to the container's standard error.
    log = os.path.join(stage, "log")
    state = os.path.join(stage, "state")
    return [runc, "--log", log, "--root", state, "run", "--bundle", bundle, plan.id]


def _wait(child: int) -> int:
    """Passes on what other processes send. What a terminal sends reaches runc by itself."""
    deadline: float | None = None
    signals = _FORWARDED | {signal.SIGCHLD}
    while True:
        if deadline is None:
            received = signal.sigwaitinfo(signals)
        else:
            found = signal.sigtimedwait(signals, max(0.0, deadline - time.monotonic()))
            if found is None:
                os.kill(child, signal.SIGKILL)
                return os.waitpid(child, 0)[1]
            received = found
        if received.si_signo == signal.SIGCHLD:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return status
        elif received.si_code <= 0:
            os.kill(child, received.si_signo)
            if received.si_signo in (signal.SIGTERM, signal.SIGHUP) and deadline is None:
                deadline = time.monotonic() + GRACE_SECONDS
