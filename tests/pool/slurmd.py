# SPDX-License-Identifier: Apache-2.0
"""A Slurm of our own on loopback: Debian's munged, slurmctld and any number of slurmd."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ibsim import wait_for

PROGRAMS = ("slurmctld", "slurmd", "scontrol", "sbatch", "munged", "mungekey")
HOST = socket.gethostname().split(".")[0]


def missing() -> str:
    absent = [it for it in PROGRAMS if not shutil.which(it)]
    if absent:
        return f"no {', '.join(absent)}: apt install slurmctld slurmd slurm-client munge"
    return "" if os.geteuid() == 0 else "slurmctld and slurmd want to be started by root"


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(count)]
        for it in found:
            it.bind(("127.0.0.1", 0))
        return [int(it.getsockname()[1]) for it in found]


@contextmanager
def daemon(*command: str | Path) -> "Iterator[subprocess.Popen[bytes]]":
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


@contextmanager
def munge(folder: Path) -> Iterator[Path]:
    """Its own key, its own socket."""
    key, sock = folder / "key", folder / "socket"
    subprocess.run(["mungekey", "-c", "-k", key], check=True)
    names = {"key": key, "socket": sock, "pid": folder / "pid", "seed": folder / "seed"}
    options = [f"--{it}-file={names[it]}" for it in ("key", "pid", "seed")]
    log = f"--log-file={folder / 'log'}"
    with daemon("munged", "-F", "--force", f"--socket={sock}", log, *options):
        wait_for(sock.exists, 30)
        yield sock


class Slurm:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._env = os.environ | {"SLURM_CONF": str(folder / "slurm.conf")}

    def call(self, *command: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command, env=self._env, cwd=self.folder, capture_output=True, text=True, timeout=60
        )

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()


@contextmanager
def slurm(
    folder: Path, sock: Path, nodes: Sequence[str], more: str, start: Sequence[str] = ()
) -> Iterator[Slurm]:
    """nodes: lines without NodeHostname and Port. start: names of the nodes that run."""
    names = [line.split()[0].removeprefix("NodeName=") for line in nodes]
    port, *ports = free_ports(1 + len(nodes))
    lines = [
        "ClusterName=vgpu-test",
        f"SlurmctldHost={HOST}(127.0.0.1)",
        f"SlurmctldPort={port}",
        "SlurmUser=root",
        "AuthType=auth/munge",
        f"AuthInfo=socket={sock}",
        "MailProg=/bin/true",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1",
        "SlurmdParameters=config_overrides",
        f"StateSaveLocation={folder}/state",
        f"SlurmdSpoolDir={folder}/spool-%n",
        f"SlurmctldPidFile={folder}/pid",
        f"SlurmdPidFile={folder}/pid-%n",
        f"SlurmctldLogFile={folder}/log",
        f"SlurmdLogFile={folder}/log-%n",
        more,
        *(
            f"{line} NodeHostname={HOST} NodeAddr=127.0.0.1 Port={port}"
            for line, port in zip(nodes, ports, strict=True)
        ),
        f"PartitionName=all Nodes={','.join(names)} Default=YES State=UP",
    ]
    conf = folder / "slurm.conf"
    conf.write_text("\n".join(lines) + "\n")
    (folder / "state").mkdir()
    cluster = Slurm(folder)
    with ExitStack() as stack:
        control = stack.enter_context(daemon("slurmctld", "-D", "-f", conf))

        def ready() -> bool:
            assert control.poll() is None, cluster.log[-2000:]
            return cluster.call("scontrol", "ping").returncode == 0

        wait_for(ready, 60)
        for name in start:
            stack.enter_context(daemon("slurmd", "-D", "-N", name, "-f", conf))
        if start:
            wait_for(
                lambda: (
                    cluster.call("sinfo", "-h", "-N", "-o", "%T").stdout.split()
                    == ["idle"] * len(start)
                ),
                60,
            )
        yield cluster
