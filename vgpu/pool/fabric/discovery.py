# SPDX-License-Identifier: Apache-2.0
"""Reads what ibnetdiscover prints (infiniband-diags, ibnetdiscover.c: out_switch, out_ca,
out_switch_port, out_ca_port)."""

import re
from collections.abc import Iterable
from typing import NoReturn

from vgpu.errors import VgpuError
from vgpu.pool.fabric.model import LANE_GBPS, WIDTHS, Discovery, Node, Peer, Rate

_FIELD = re.compile(r"(vendid|devid|sysimgguid|switchguid|caguid|rtguid)=(0x[0-9a-fA-F]+)(\(.*\))?")
_NODE = re.compile(r'(Switch|Ca|Rt)\s+(\d+)\s+"([SHR])-([0-9a-fA-F]{1,16})"\s*(?:#\s*(.*))?')
_PORT = re.compile(
    r"\[(\d+)\](?:\[[^\]]*\])?(?:\(([0-9a-fA-F]+)\))?\s*"
    r'"([SHR])-([0-9a-fA-F]{1,16})"\[(\d+)\](?:\[[^\]]*\])?(?:\(([0-9a-fA-F]+)\))?\s*(?:#\s*(.*))?'
)
_NAME = re.compile(r'"(.*?)"')
_LID = re.compile(r"\blid (\d+)")
_LMC = re.compile(r"\blmc (\d+)")
_RATE = re.compile(r"\b(\d+)x([A-Z]+\d*)\b")
_SKIP = re.compile(r"#|Chassis\b|DDR\b|Non-|\s*$")
_KINDS = {"Switch": "S", "Ca": "H", "Rt": "R"}


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.line = 0
        self.system_guid = 0
        self.nodes: dict[int, Node] = {}
        self.node: Node | None = None
        self.seen_at: dict[tuple[int, int], int] = {}

    def fail(self, fact: str, line: int | None = None) -> NoReturn:
        raise VgpuError(
            f"{self.source}:{line or self.line}: {fact}",
            "save what 'ibnetdiscover' prints, whole and without options",
        )

    def read(self, lines: Iterable[str]) -> Discovery:
        for text in lines:
            self.line += 1
            self.take(text.rstrip())
        if not self.nodes:
            self.fail("no node in it", max(self.line, 1))
        self.close()
        return Discovery(self.source, self.nodes)

    def take(self, text: str) -> None:
        if found := _PORT.fullmatch(text):
            self.port(found)
        elif found := _NODE.fullmatch(text):
            self.start(found)
        elif found := _FIELD.fullmatch(text):
            self.node = None
            if found[1] == "sysimgguid":
                self.system_guid = int(found[2], 16)
        elif not _SKIP.match(text):
            shown = text if len(text) < 60 else text[:57] + "..."
            self.fail(f"not a line of ibnetdiscover: {shown!r}")

    def start(self, found: re.Match[str]) -> None:
        kind, ports, letter, guid_text, comment = found.groups()
        if _KINDS[kind] != letter:
            self.fail(f'{kind} is named "{letter}-...", not "{_KINDS[kind]}-..."')
        guid = int(guid_text, 16)
        if guid in self.nodes:
            self.fail(f"node {guid:#x} is there twice, first on line {self.nodes[guid].line}")
        name = _NAME.search(comment or "")
        self.node = Node(
            guid,
            kind == "Switch",
            name[1] if name else f"{guid:#x}",
            int(ports),
            self.line,
            self.system_guid or guid,
        )
        self.system_guid = 0
        if kind == "Switch":
            self.node.lid, self.node.lmc = self.lid_of((comment or "").rpartition('"')[2])
        self.nodes[guid] = self.node

    def lid_of(self, comment: str) -> tuple[int, int]:
        lid, lmc = _LID.search(comment), _LMC.search(comment)
        return int(lid[1]) if lid else 0, int(lmc[1]) if lmc else 0

    def port(self, found: re.Match[str]) -> None:
        number, _, _, far, far_number, _, comment = found.groups()
        node = self.node
        if node is None:
            self.fail("a port with no node above it")
        port = int(number)
        if not 1 <= port <= node.ports:
            self.fail(f"port {port} of {node.name}, which has {node.ports}")
        if port in node.peers:
            self.fail(f"port {port} of {node.name} is there twice")
        tail = (comment or "").rpartition('"')[2]
        rate = _RATE.search(tail)
        if rate and (int(rate[1]) not in WIDTHS or rate[2] not in LANE_GBPS):
            self.fail(f"no such link rate: {rate[0]}")
        node.peers[port] = Peer(
            int(far, 16), int(far_number), Rate(int(rate[1]), rate[2]) if rate else None
        )
        self.seen_at[node.guid, port] = self.line
        if not node.is_switch:
            node.port_lids[port] = self.lid_of((comment or "").partition('"')[0])

    def close(self) -> None:
        """A file that was cut shows here: one side of a cable is missing."""
        for node in self.nodes.values():
            for port, peer in node.peers.items():
                line = self.seen_at[node.guid, port]
                far = self.nodes.get(peer.guid)
                if far is None:
                    self.fail(f"{node.name} port {port} goes to {peer.guid:#x}, not there", line)
                back = far.peers.get(peer.port)
                if back is None:
                    self.fail(
                        f"{node.name} port {port} goes to {far.name} port {peer.port}, which "
                        "does not say so",
                        line,
                    )
                if (back.guid, back.port) != (node.guid, port):
                    self.fail(
                        f"{node.name} port {port} goes to {far.name} port {peer.port}, which goes "
                        "elsewhere",
                        line,
                    )


def read_discovery(lines: Iterable[str], source: str) -> Discovery:
    return _Reader(source).read(lines)
