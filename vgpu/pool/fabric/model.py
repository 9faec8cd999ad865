# SPDX-License-Identifier: Apache-2.0
"""What was discovered, as plain data: nodes, their ports, the cables between ports."""

from dataclasses import dataclass, field

# Gb/s of data in one direction and one lane, after the line code (8b/10b up to QDR, 64b/66b above).
LANE_GBPS = {
    "SDR": 2.0,
    "DDR": 4.0,
    "QDR": 8.0,
    "FDR10": 10.0,
    "FDR": 13.64,
    "EDR": 25.0,
    "HDR": 50.0,
    "NDR": 100.0,
    "XDR": 200.0,
}
WIDTHS = (1, 2, 4, 8, 12)


@dataclass(frozen=True)
class Rate:
    width: int
    speed: str

    @property
    def gbps(self) -> float:
        return self.width * LANE_GBPS[self.speed]

    def __str__(self) -> str:
        return f"{self.width}x{self.speed}"


@dataclass(frozen=True)
class Peer:
    """The far end of a cable."""

    guid: int
    port: int
    rate: Rate | None


@dataclass
class Node:
    """A switch or a channel adapter. lid is that of a switch's port 0; the ports of a channel
    adapter have their own."""

    guid: int
    is_switch: bool
    name: str
    ports: int
    line: int
    system_guid: int = 0
    lid: int = 0
    lmc: int = 0
    peers: dict[int, Peer] = field(default_factory=dict)
    port_lids: dict[int, tuple[int, int]] = field(default_factory=dict)


@dataclass
class Discovery:
    source: str
    nodes: dict[int, Node]

    @property
    def switches(self) -> list[Node]:
        return [node for node in self.nodes.values() if node.is_switch]

    @property
    def adapters(self) -> list[Node]:
        return [node for node in self.nodes.values() if not node.is_switch]


@dataclass
class Tables:
    """The linear forwarding tables: for each switch, out port by LID."""

    source: str
    ports: dict[int, dict[int, int]]
