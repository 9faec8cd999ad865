# SPDX-License-Identifier: Apache-2.0
"""The cgroups of our containers: made before the container, so that it can be recorded for the
tenant before any of its processes runs."""

import contextlib
import fcntl
import os
import secrets

from vgpu.errors import VgpuError

# Below the root of the cgroup v2 hierarchy.
PARENT = "vgpu"


def hierarchy(mountinfo: str = "/proc/self/mountinfo") -> str:
    """Where cgroup v2 is mounted, alone or beside v1."""
    with open(mountinfo) as lines:
        for line in lines:
            before, _, after = line.partition(" - ")
            if after.startswith("cgroup2 "):
                return before.split()[4]
    raise VgpuError("no cgroup v2 hierarchy is mounted", "mount -t cgroup2 none /sys/fs/cgroup")


class Cgroup:
    """An empty cgroup, ours until close(): the lock tells others that it is in use, and is gone
    with this process however it ends."""

    def __init__(self, root: str, name: str) -> None:
        self._parent = os.path.join(root, PARENT)
        os.makedirs(self._parent, exist_ok=True)
        while True:
            self.id = f"{name}-{secrets.token_hex(4)}"
            self._directory = os.path.join(self._parent, self.id)
            os.mkdir(self._directory)
            self.fd = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            # A sweep that came between has the lock or has already removed the directory.
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.isdir(self._directory):
                    break
            os.close(self.fd)

    @property
    def path(self) -> str:
        """As linux.cgroupsPath wants it: relative to the hierarchy."""
        return f"/{PARENT}/{self.id}"

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.rmdir(self._directory)
        os.close(self.fd)


def sweep(root: str) -> None:
    """Removes what a killed 'vgpu run' left: empty directories whose lock nobody holds."""
    parent = os.path.join(root, PARENT)
    with contextlib.suppress(FileNotFoundError):
        for entry in os.scandir(parent):
            if entry.is_dir(follow_symlinks=False):
                _sweep_one(entry.path)


def _sweep_one(directory: str) -> None:
    with contextlib.suppress(OSError):
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rmdir(directory)
        finally:
            os.close(fd)
