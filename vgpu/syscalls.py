# SPDX-License-Identifier: Apache-2.0
"""System calls of vgpu._native with Python's manners: OSError instead of -errno."""

import os

from vgpu._native import ffi, lib


def _check(result: int, *names: str) -> None:
    if result < 0:
        raise OSError(-result, os.strerror(-result), *names[:1])


def mount(source: str, target: str, fstype: str | None, flags: int = 0, data: str = "") -> None:
    _check(
        lib.sys_mount(
            os.fsencode(source),
            os.fsencode(target),
            os.fsencode(fstype) if fstype else ffi.NULL,
            flags,
            os.fsencode(data) if data else ffi.NULL,
        ),
        target,
    )


def umount(target: str) -> None:
    """Takes the mount out of the tree at once; it ends with its last user."""
    _check(lib.sys_umount(os.fsencode(target)), target)


def bind_tree(source: str, target: str) -> None:
    mount(source, target, None, lib.MS_BIND | lib.MS_REC)


def read_only_tree(target: str) -> None:
    """Unlike a remount, this reaches what is mounted below."""
    _check(lib.sys_read_only_tree(os.fsencode(target)), target)


def private_mounts() -> None:
    """A mount namespace of our own, from which nothing travels back."""
    _check(lib.sys_unshare(lib.CLONE_NEWNS))
    mount("none", "/", None, lib.MS_REC | lib.MS_PRIVATE)


def children_in_new_pid_namespace() -> None:
    _check(lib.sys_unshare(lib.CLONE_NEWPID))


def die_with_parent() -> None:
    _check(lib.sys_die_with_parent())
