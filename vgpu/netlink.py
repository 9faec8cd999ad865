# SPDX-License-Identifier: Apache-2.0
"""State of all tenants, read from the module's generic netlink family.

pyroute2 writes and reads the messages. Its sockets are not used and its package is not imported:
that would load 370 modules, 0.2 s of every 'vgpu list' (and 10 s in an emulated guest), where
messages need four.
"""

import errno
import importlib
import importlib.util
import os
import socket
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from vgpu._native import ffi, lib
from vgpu.errors import VgpuError
from vgpu.model import GpuId, Slice, Tenant


def _messages() -> Any:
    """pyroute2.netlink alone; a later import of pyroute2 finds everything as if untouched."""
    name = "pyroute2"
    if name in sys.modules:
        return importlib.import_module(f"{name}.netlink")
    spec = importlib.util.find_spec(name)
    if spec is None:
        raise VgpuError("pyroute2 is not installed", "install it with 'pip install pyroute2'")
    package = ModuleType(name)
    package.__path__ = list(spec.submodule_search_locations or ())
    sys.modules[name] = package
    try:
        return importlib.import_module(f"{name}.netlink")
    finally:
        del sys.modules[name]


netlink: Any = _messages()
_Message: Any = netlink.genlmsg
_Nested: Any = netlink.nla


def _map(prefix: str, kinds: dict[str, str]) -> tuple[tuple[int, str, str], ...]:
    """pyroute2's table of attributes; numbers and names are the header's."""
    return tuple((getattr(lib, prefix + name), prefix + name, kind) for name, kind in kinds.items())


class _TenantMessage(_Message):  # type: ignore[misc]
    nla_map = _map(
        "VGPU_NL_A_",
        {
            "ID": "uint64",
            "NAME": "asciiz",
            "FLAGS": "uint32",
            "FILES": "uint32",
            "REASON": "asciiz",
            "SLICE": "slice",
        },
    )

    class slice(_Nested):  # type: ignore[misc]
        nla_map = _map(
            "VGPU_NL_S_",
            {
                "INDEX": "uint32",
                "UUID": "asciiz",
                "PCI": "asciiz",
                "FLAGS": "uint32",
                "MEMORY_MAX": "uint64",
                "MEMORY_CURRENT": "uint64",
                "MEMORY_BUFFERS": "uint64",
                "MEMORY_CONTEXTS": "uint64",
                "MEMORY_MANAGED": "uint64",
                "MEMORY_PEAK": "uint64",
                "REFUSALS": "uint64",
            },
        )


def _slice(host: str, attributes: Any) -> Slice:
    def get(name: str) -> Any:
        return attributes.get_attr("VGPU_NL_S_" + name)

    return Slice(
        index=get("INDEX"),
        gpu=GpuId(host, get("UUID")),
        pci=get("PCI"),
        flags=get("FLAGS") or 0,
        memory_max=get("MEMORY_MAX"),
        memory_current=get("MEMORY_CURRENT"),
        memory_buffers=get("MEMORY_BUFFERS"),
        memory_contexts=get("MEMORY_CONTEXTS"),
        memory_managed=get("MEMORY_MANAGED"),
        memory_peak=get("MEMORY_PEAK"),
        refusals=get("REFUSALS"),
    )


def _tenant(host: str, message: Any) -> Tenant:
    def get(name: str) -> Any:
        return message.get_attr("VGPU_NL_A_" + name)

    return Tenant(
        id=get("ID"),
        name=get("NAME"),
        flags=get("FLAGS") or 0,
        files=get("FILES") or 0,
        reason=get("REASON") or "",
        slices=tuple(_slice(host, found) for found in message.get_attrs("VGPU_NL_A_SLICE")),
    )


class _Socket(socket.socket):
    """One request at a time."""

    def __init__(self) -> None:
        super().__init__(socket.AF_NETLINK, socket.SOCK_RAW, netlink.NETLINK_GENERIC)
        self.bind((0, 0))

    def request(self, message: Any, family: int, flags: int) -> Iterator[bytes]:
        """The messages of the answer, one by one; OSError when the kernel refuses."""
        message["header"]["type"] = family
        message["header"]["flags"] = netlink.NLM_F_REQUEST | flags
        message.encode()
        self.send(message.data)
        dump = flags & netlink.NLM_F_DUMP
        while True:
            # The kernel sizes the parts of a dump by what the reader offers, to 32 KiB at most.
            data = self.recv(1 << 16)
            while data:
                length = int.from_bytes(data[:4], sys.byteorder)
                kind = int.from_bytes(data[4:6], sys.byteorder)
                if kind in (netlink.NLMSG_ERROR, netlink.NLMSG_DONE):
                    _check(int.from_bytes(data[16:20], sys.byteorder, signed=True))
                    return
                yield data[:length]
                if not dump:
                    return
                data = data[(length + 3) & ~3 :]


def _check(error: int) -> None:
    if error:
        raise OSError(-error, os.strerror(-error))


def _family(channel: _Socket, name: str) -> int:
    request = netlink.ctrlmsg()
    request["cmd"] = netlink.CTRL_CMD_GETFAMILY
    request["version"] = 1
    request["attrs"] = [("CTRL_ATTR_FAMILY_NAME", name)]
    for data in channel.request(request, netlink.GENL_ID_CTRL, 0):
        answer = netlink.ctrlmsg(data)
        answer.decode()
        return int(answer.get_attr("CTRL_ATTR_FAMILY_ID"))
    raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))


def tenants(host: str) -> list[Tenant]:
    """A dump, in the order in which the tenants were made."""
    request = _TenantMessage()
    request["cmd"] = lib.VGPU_NL_CMD_TENANT_GET
    request["version"] = lib.VGPU_NL_VERSION
    found = []
    try:
        with _Socket() as channel:
            family = _family(channel, ffi.string(lib.VGPU_NL_NAME).decode())
            for data in channel.request(request, family, netlink.NLM_F_DUMP):
                message = _TenantMessage(data)
                message.decode()
                found.append(_tenant(host, message))
    except OSError as error:
        raise _refused(error) from error
    return sorted(found, key=lambda tenant: tenant.id)


def _refused(error: OSError) -> VgpuError:
    if error.errno == errno.ENOENT:
        return VgpuError(
            "the vgpu module is not loaded, so nothing is enforced", "load it with 'modprobe vgpu'"
        )
    if error.errno in (errno.EPERM, errno.EACCES):
        return VgpuError(
            "the state of slices may not be read by this process",
            "run it as root on the host, outside of every slice",
        )
    return VgpuError(f"the state of slices cannot be read: {error.strerror}")
