# SPDX-License-Identifier: Apache-2.0
"""State of all tenants, read from the module's generic netlink family.

pyroute2 loads some 370 modules: whoever needs no state should not import this file.
"""

import errno
from typing import Any

from pyroute2.netlink import NLM_F_DUMP, NLM_F_REQUEST, genlmsg, nla
from pyroute2.netlink.exceptions import NetlinkError
from pyroute2.netlink.generic import GenericNetlinkSocket

from vgpu._native import ffi, lib
from vgpu.errors import VgpuError
from vgpu.model import GpuId, Slice, Tenant


def _map(prefix: str, kinds: dict[str, str]) -> tuple[tuple[int, str, str], ...]:
    """pyroute2's table of attributes; numbers and names are the header's."""
    return tuple((getattr(lib, prefix + name), prefix + name, kind) for name, kind in kinds.items())


class _TenantMessage(genlmsg):  # type: ignore[misc]
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

    class slice(nla):  # type: ignore[misc]
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


def tenants(host: str) -> list[Tenant]:
    """A dump, in the order in which the tenants were made."""
    request = _TenantMessage()
    request["cmd"] = lib.VGPU_NL_CMD_TENANT_GET
    request["version"] = lib.VGPU_NL_VERSION
    try:
        with GenericNetlinkSocket(ext_ack=True) as socket:
            socket.bind(ffi.string(lib.VGPU_NL_NAME).decode(), _TenantMessage)
            found = list(
                socket.nlm_request(
                    request, msg_type=socket.prid, msg_flags=NLM_F_REQUEST | NLM_F_DUMP
                )
            )
    except NetlinkError as error:
        raise _refused(error) from error
    return sorted((_tenant(host, message) for message in found), key=lambda tenant: tenant.id)


def _refused(error: NetlinkError) -> VgpuError:
    if error.code == errno.ENOENT:
        return VgpuError(
            "the vgpu module is not loaded, so nothing is enforced", "load it with 'modprobe vgpu'"
        )
    if error.code in (errno.EPERM, errno.EACCES):
        return VgpuError(
            "the state of slices may not be read by this process",
            "run it as root on the host, outside of every slice",
        )
    return VgpuError(f"the state of slices cannot be read: {error.args[-1]}")
