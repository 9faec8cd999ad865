# SPDX-License-Identifier: Apache-2.0
"""The config.json of 'vgpu run', before the nodes of the tenant are added."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vgpu.oci.edits import Config

# What Docker gives a container's root. CAP_MKNOD is among them on purpose: a raw node that it
# makes stays shut, since no device rule allows its number.
CAPABILITIES = (
    "CAP_AUDIT_WRITE",
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_MKNOD",
    "CAP_NET_BIND_SERVICE",
    "CAP_NET_RAW",
    "CAP_SETFCAP",
    "CAP_SETGID",
    "CAP_SETPCAP",
    "CAP_SETUID",
    "CAP_SYS_CHROOT",
)

MASKED_PATHS = (
    "/proc/acpi",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/scsi",
    "/proc/timer_list",
    "/sys/firmware",
)

READONLY_PATHS = (
    "/proc/bus",
    "/proc/fs",
    "/proc/irq",
    "/proc/sys",
    "/proc/sysrq-trigger",
)

# Mounted anew over the host's, whose contents are not for the container.
OWN_DIRECTORIES = ("/dev", "/proc", "/run", "/sys", "/tmp")


@dataclass(frozen=True)
class Process:
    """What runs in the container."""

    args: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    uid: int = 0
    gid: int = 0
    terminal: bool = False


@dataclass(frozen=True)
class Container:
    """Where it runs. visible are directories of the host below one that the container has of its
    own; they appear in it under their own path, read-only."""

    hostname: str
    root: str
    root_readonly: bool
    cgroup: str
    process: Process
    visible: Sequence[str] = field(default=())


def _mount(destination: str, fstype: str, *options: str, source: str | None = None) -> Config:
    return {
        "destination": destination,
        "type": fstype,
        "source": source or fstype,
        "options": list(options),
    }


def config(container: Container) -> Config:
    process = container.process
    mounts = [
        _mount("/proc", "proc", "nosuid", "noexec", "nodev"),
        _mount("/dev", "tmpfs", "nosuid", "strictatime", "mode=755", "size=65536k"),
        _mount(
            "/dev/pts", "devpts", "nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"
        ),
        _mount("/dev/shm", "tmpfs", "nosuid", "noexec", "nodev", "mode=1777", source="shm"),
        _mount("/dev/mqueue", "mqueue", "nosuid", "noexec", "nodev"),
        _mount("/sys", "sysfs", "nosuid", "noexec", "nodev", "ro"),
        _mount("/sys/fs/cgroup", "cgroup", "nosuid", "noexec", "nodev", "relatime", "ro"),
        _mount("/run", "tmpfs", "nosuid", "nodev", "mode=755"),
        _mount("/tmp", "tmpfs", "nosuid", "nodev", "mode=1777"),
    ]
    mounts += [
        _mount(path, "bind", "rbind", "rro", "nosuid", "nodev", source=path)
        for path in container.visible
    ]
    capabilities = list(CAPABILITIES)
    return {
        "ociVersion": "1.0.2",
        "hostname": container.hostname,
        "root": {"path": container.root, "readonly": container.root_readonly},
        "process": {
            "terminal": process.terminal,
            "user": {"uid": process.uid, "gid": process.gid},
            "args": list(process.args),
            "env": [f"{name}={value}" for name, value in process.env.items()],
            "cwd": process.cwd,
            "capabilities": {
                "bounding": capabilities,
                "effective": capabilities if process.uid == 0 else [],
                "permitted": capabilities if process.uid == 0 else [],
            },
            "noNewPrivileges": True,
        },
        "mounts": mounts,
        "linux": {
            "cgroupsPath": container.cgroup,
            "namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount", "cgroup")],
            "resources": {"devices": [{"allow": False, "access": "rwm"}]},
            "maskedPaths": list(MASKED_PATHS),
            "readonlyPaths": list(READONLY_PATHS),
        },
    }
