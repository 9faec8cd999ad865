# SPDX-License-Identifier: Apache-2.0
"""The fabric as a graph: levels, leaves, units, blocks, and each host's NICs by rail."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import networkx as nx

from vgpu.pool.fabric.model import Discovery, Node, Rate

# The last word of a node description, as mlx5_ib and ibstat's drivers write it.
_HCA = re.compile(r"(?:mlx\d+_\d+|ibp\w+|HCA-\d+|hfi1_\d+|qib\d+)")
_SHARP = "Mellanox Technologies Aggregation Node"


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """Sorts n2 before n10."""
    return tuple(
        (0, int(part), "") if part.isdecimal() else (1, 0, part)
        for part in re.split(r"([0-9]+)", text)
    )


@dataclass
class HostPort:
    host: str
    hca: str
    guid: int
    port: int
    lid: int
    lmc: int
    leaf: int
    leaf_port: int
    rate: Rate | None
    rail: int = 0


@dataclass(frozen=True)
class Link:
    """A cable between switches, the lower level first. Equal levels: not a fat tree."""

    low: int
    low_port: int
    high: int
    high_port: int
    rate: Rate | None

    @property
    def gbps(self) -> float:
        return self.rate.gbps if self.rate else 0.0


@dataclass
class Unit:
    """Leaves that serve the same hosts: one leaf, or with rails one for each rail."""

    leaves: tuple[int, ...]
    hosts: list[str]
    block: int = 0


class Fabric:
    def __init__(self, discovery: Discovery) -> None:
        self.discovery = discovery
        self.nodes = discovery.nodes
        self.switches: dict[int, Node] = {it.guid: it for it in discovery.switches}
        self.graph: nx.Graph[int] = nx.Graph()
        self.graph.add_nodes_from(self.switches)
        for guid, node in self.switches.items():
            for peer in node.peers.values():
                if peer.guid in self.switches:
                    self.graph.add_edge(guid, peer.guid)
        self.ports = self._host_ports()
        self.levels = self._levels()
        self.links = self._links()
        self.units = self._units()

    def name(self, guid: int) -> str:
        return self.nodes[guid].name

    def _host_ports(self) -> list[HostPort]:
        system_of: dict[str, set[int]] = defaultdict(set)
        split: dict[int, tuple[str, str]] = {}
        for node in self.discovery.adapters:
            words = node.name.split()
            if len(words) > 1 and _HCA.fullmatch(words[-1]):
                split[node.guid] = (" ".join(words[:-1]), words[-1])
            else:
                # Nothing says which of two adapters of this description are of one host.
                split[node.guid] = (node.name, "")
                system_of[node.name].add(node.system_guid)
        found = []
        for node in self.discovery.adapters:
            if node.name.strip() == _SHARP:
                continue
            host, hca = split[node.guid]
            if len(system_of.get(host, ())) > 1:
                host = f"{host} {node.system_guid:#x}"
            for port, peer in sorted(node.peers.items()):
                if peer.guid in self.switches:
                    lid, lmc = node.port_lids[port]
                    found.append(
                        HostPort(
                            host, hca, node.guid, port, lid, lmc, peer.guid, peer.port, peer.rate
                        )
                    )
        found.sort(key=lambda it: (natural(it.host), natural(it.hca), it.port))
        return found

    @cached_property
    def hosts(self) -> dict[str, list[HostPort]]:
        hosts: dict[str, list[HostPort]] = defaultdict(list)
        for port in self.ports:
            hosts[port.host].append(port)
        return dict(hosts)

    @cached_property
    def ports_of_leaf(self) -> dict[int, list[HostPort]]:
        leaves: dict[int, list[HostPort]] = defaultdict(list)
        for port in self.ports:
            leaves[port.leaf].append(port)
        return dict(leaves)

    def _levels(self) -> dict[int, int]:
        """Hops from the leaves. A spine that also serves a host or two, as it does where a
        subnet manager hangs on it, is no leaf: its neighbours have many times more."""
        count = Counter(port.leaf for port in self.ports)
        leaves: set[int] = set()
        for guid in sorted(count, key=lambda it: (-count[it], it)):
            if all(count[guid] * 2 >= count[near] for near in self.graph[guid] if near in leaves):
                leaves.add(guid)
        if not leaves:
            return dict.fromkeys(self.switches, 0)
        far = nx.multi_source_dijkstra_path_length(self.graph, leaves)
        top = max(far.values())
        return {guid: int(far.get(guid, top)) for guid in self.switches}

    def _links(self) -> list[Link]:
        links = []
        for guid, node in self.switches.items():
            for port, peer in node.peers.items():
                if peer.guid not in self.switches:
                    continue
                here = (self.levels[guid], guid, port)
                there = (self.levels[peer.guid], peer.guid, peer.port)
                if here < there:
                    links.append(Link(guid, port, peer.guid, peer.port, peer.rate))
        return links

    @cached_property
    def up(self) -> dict[int, list[Link]]:
        up: dict[int, list[Link]] = defaultdict(list)
        for link in self.links:
            if self.levels[link.low] < self.levels[link.high]:
                up[link.low].append(link)
        return dict(up)

    @cached_property
    def by_level(self) -> list[list[int]]:
        levels: list[list[int]] = [[] for _ in range(max(self.levels.values(), default=-1) + 1)]
        for guid in sorted(self.switches, key=lambda it: natural(self.name(it))):
            levels[self.levels[guid]].append(guid)
        return levels

    @property
    def leaves(self) -> list[int]:
        return self.by_level[0] if self.by_level else []

    def oversubscription(self, leaf: int) -> float | None:
        """Bandwidth of the hosts over that of the uplinks; None where nothing goes up."""
        down = sum(port.rate.gbps for port in self.ports_of_leaf.get(leaf, []) if port.rate)
        up = sum(link.gbps for link in self.up.get(leaf, []))
        return down / up if up else None

    def _units(self) -> list[Unit]:
        """Two leaves are of one unit when they share half of the hosts of the smaller one: one
        host with a cable in the wrong place then joins nothing."""
        hosts_of: dict[int, set[str]] = {
            leaf: {port.host for port in self.ports_of_leaf.get(leaf, [])} for leaf in self.leaves
        }
        near: nx.Graph[int] = nx.Graph()
        near.add_nodes_from(self.leaves)
        shared: Counter[tuple[int, int]] = Counter()
        for ports in self.hosts.values():
            leaves = sorted({port.leaf for port in ports if port.leaf in hosts_of})
            shared.update(combinations(leaves, 2))
        for (a, b), count in shared.items():
            if count * 2 >= min(len(hosts_of[a]), len(hosts_of[b])):
                near.add_edge(a, b)
        unit_of: dict[int, int] = {}
        units: list[Unit] = []
        for group in nx.connected_components(near):
            for leaf in group:
                unit_of[leaf] = len(units)
            ordered = tuple(sorted(group, key=lambda it: natural(self.name(it))))
            units.append(Unit(ordered, []))
        for host, ports in self.hosts.items():
            votes = Counter(unit_of[port.leaf] for port in ports if port.leaf in unit_of)
            if votes:
                units[votes.most_common(1)[0][0]].hosts.append(host)
        units.sort(key=lambda it: natural(self.name(it.leaves[0])))
        for number, block in enumerate(self.domains_at(1)):
            for unit in units:
                if unit.leaves[0] in block:
                    unit.block = number
        self._number_rails(units)
        return units

    def domains_at(self, level: int) -> list[set[int]]:
        """Switches that reach each other without going above this level."""
        lower = self.graph.subgraph(guid for guid in self.switches if self.levels[guid] <= level)
        found = [set(part) for part in nx.connected_components(lower)]
        with_leaf = [part for part in found if any(self.levels[guid] == 0 for guid in part)]
        return sorted(
            with_leaf,
            key=lambda part: min(natural(self.name(it)) for it in part if not self.levels[it]),
        )

    def domains(self) -> list[list[set[int]]]:
        """Leaves by what joins them, from level 1 up to the level that joins all."""
        levels: list[list[set[int]]] = []
        for level in range(1, len(self.by_level)):
            parts = [
                {guid for guid in part if self.levels[guid] == 0} for part in self.domains_at(level)
            ]
            if not levels or len(parts) < len(levels[-1]):
                levels.append(parts)
        return levels

    def _number_rails(self, units: Iterable[Unit]) -> None:
        """A rail is the place of an HCA among those of its host. A host that lacks one keeps the
        numbers that its neighbours of the same unit give to the rest."""
        for unit in units:
            order: list[tuple[str, int]] = []
            for host in sorted(unit.hosts, key=lambda it: -len(self.hosts[it])):
                ports = self.hosts[host]
                names = [(port.hca, port.port) for port in ports]
                if not set(names) <= set(order):
                    order = names
                for port in ports:
                    port.rail = order.index((port.hca, port.port))

    def unit_of_host(self) -> dict[str, int]:
        return {host: number for number, unit in enumerate(self.units) for host in unit.hosts}

    @cached_property
    def rail_optimised(self) -> bool:
        return any(len(unit.leaves) > 1 for unit in self.units)
