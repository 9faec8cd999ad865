# SPDX-License-Identifier: Apache-2.0
"""Follows the forwarding tables: who is reached, over which cables, and how many paths each of
them carries. All switches and many destinations are followed at once."""

from dataclasses import dataclass, field

import networkx as nx
import numpy as np
import numpy.typing as npt

from vgpu.errors import VgpuError
from vgpu.pool.fabric.graph import Fabric
from vgpu.pool.fabric.model import Tables

Ints = npt.NDArray[np.int64]

# Destinations followed together: the arrays of the largest fabrics then stay in the cache.
_CHUNK = 512
# Shifts followed where a fabric has more hosts than this.
_SHIFTS = 32


@dataclass(frozen=True)
class Broken:
    """From the leaf the tables do not lead to the LID."""

    leaf: int
    lid: int
    why: str


@dataclass
class Usage:
    """What the tables do with one path from every host port to every other. load counts them by
    switch and out port; credit_loop lists (switch, out port) that wait for each other."""

    pairs: int = 0
    load: dict[tuple[int, int], int] = field(default_factory=dict)
    broken: list[Broken] = field(default_factory=list)
    unreached: int = 0
    down_up: int = 0
    minimal: bool = True
    one_root: bool = True
    shift: int = 0
    shift_least: int = 1
    credit_loop: list[tuple[int, int]] = field(default_factory=list)

    @property
    def follows(self) -> list[str]:
        """The routing engines whose rule the tables keep. What sets ftree apart is that hosts
        which all send to the one n places on are not in each other's way; twice the least is
        let pass, since opensm's order of the hosts need not be that of their names."""
        names = []
        if self.minimal:
            names.append("minhop")
        if not self.down_up:
            names.append("updn")
            if self.minimal and self.one_root and self.shift <= 2 * self.shift_least:
                names.append("ftree")
        return names


class Routes:
    def __init__(self, fabric: Fabric, tables: Tables) -> None:
        self.fabric = fabric
        self.source = tables.source
        self.order = [guid for row in fabric.by_level for guid in row]
        place = {guid: i for i, guid in enumerate(self.order)}
        missing = [fabric.name(guid) for guid in self.order if guid not in tables.ports]
        if missing:
            more = f" and {len(missing) - 1} more switches" if len(missing) > 1 else ""
            raise VgpuError(
                f"{tables.source}: no table of {missing[0]}{more}",
                "take discovery and tables from the same fabric, at the same time",
            )
        self.ports = [port for port in fabric.ports if port.lid]
        self.lids: Ints = np.array([port.lid for port in self.ports], dtype=np.int64)
        self.ends: Ints = np.array([place[port.leaf] for port in self.ports], dtype=np.int64)
        self.end_ports: Ints = np.array([port.leaf_port for port in self.ports], dtype=np.int64)
        self.radix = max((node.ports for node in fabric.switches.values()), default=0) + 1
        top = int(self.lids.max(initial=0)) + 1
        # Port 0 of a table is the switch itself: for the LID of a host that leads nowhere.
        self.out: Ints = np.zeros((len(self.order), top), dtype=np.int64)
        for guid, table in tables.ports.items():
            if guid in place:
                row = self.out[place[guid]]
                for lid, port in table.items():
                    if lid < top and port < self.radix:
                        row[lid] = port
        self.far: Ints = np.full((len(self.order), self.radix), -1, dtype=np.int64)
        for guid, node in fabric.switches.items():
            for port, peer in node.peers.items():
                if peer.guid in place:
                    self.far[place[guid], port] = place[peer.guid]
        self.level: Ints = np.array([fabric.levels[it] for it in self.order], dtype=np.int64)
        self.hops = self._hops(nx.relabel_nodes(fabric.graph, place))

    def _hops(self, graph: "nx.Graph[int]") -> Ints:
        hops = np.full((len(self.order), len(self.order)), -1, dtype=np.int64)
        for leaf in np.unique(self.ends):
            for there, length in nx.single_source_shortest_path_length(graph, int(leaf)).items():
                hops[leaf, there] = length
        return hops

    def usage(self) -> Usage:
        result = Usage(pairs=len(self.ports) * (len(self.ports) - 1))
        load = np.zeros(len(self.order) * self.radix, dtype=np.int64)
        waits = np.zeros(0, dtype=np.int64)
        for first in range(0, len(self.ports), _CHUNK):
            chunk = slice(first, first + _CHUNK)
            waits = np.union1d(waits, self._follow(chunk, load, result))
        for channel in np.flatnonzero(load):
            result.load[self._channel(int(channel))] = int(load[channel])
        result.credit_loop = [self._channel(it) for it in self._loop(waits)]
        result.shift = self.shift_load()
        result.shift_least = max(
            (
                -(-len(self.fabric.ports_of_leaf.get(leaf, ())) // len(self.fabric.up[leaf]))
                for leaf in self.fabric.leaves
                if leaf in self.fabric.up
            ),
            default=1,
        )
        return result

    def _channel(self, channel: int) -> tuple[int, int]:
        switch, port = divmod(channel, self.radix)
        return self.order[switch], port

    def _follow(self, chunk: slice, load: Ints, result: Usage) -> Ints:
        """Adds to load; returns which channel waits for which, as one number for a pair."""
        size = len(self.order)
        lids, ends = self.lids[chunk], self.ends[chunk]
        columns = np.arange(len(lids))
        rows = np.arange(size)[:, None]
        out = self.out[:, lids]
        onward = np.where(out > 0, self.far[rows, out], -1)
        channel = rows * self.radix + out
        left = self._distance(ends, onward)
        # What the last switch does is seen by the port, not by the next switch.
        delivered = out[ends, columns] == self.end_ports[chunk]
        flow = np.repeat(np.bincount(self.ends, minlength=size)[:, None], len(lids), axis=1)
        flow[ends, columns] -= 1
        lost = (flow > 0) & ((left < 0) | ~delivered[None, :])
        if lost.any():
            result.unreached += int(flow[lost].sum())
            for leaf, column in zip(*np.nonzero(lost), strict=True):
                if len(result.broken) < 20:
                    why = self._why(int(leaf), int(ends[column]), onward[:, column])
                    result.broken.append(Broken(self.order[leaf], int(lids[column]), why))
        flow[lost] = 0
        asked = (flow > 0) & (rows != ends[None, :])
        result.minimal &= bool((left == self.hops[:, ends])[asked].all())
        used = flow > 0
        waits = [np.zeros(0, dtype=np.int64)]
        for steps in range(int(left.max(initial=0)), 0, -1):
            row, column = np.nonzero(used & (left == steps))
            to = onward[row, column]
            moved = flow[row, column]
            np.add.at(load, channel[row, column], moved)
            np.add.at(flow, (to, column), moved)
            used[to, column] = True
            if steps > 1:
                down = self.level[to] < self.level[row]
                up = self.level[onward[to, column]] > self.level[to]
                result.down_up += int(np.count_nonzero(down & up))
                waits.append(
                    np.unique(channel[row, column] * (size * self.radix) + channel[to, column])
                )
        np.add.at(load, channel[ends, columns], flow[ends, columns] * delivered)
        top = self.level == self.level.max(initial=0)
        result.one_root &= bool((np.count_nonzero(used[top], axis=0) <= 1).all())
        return np.unique(np.concatenate(waits))

    def _distance(self, ends: Ints, onward: Ints) -> Ints:
        """Switches left to pass, by switch and destination; -1 where the tables never arrive."""
        columns = np.arange(len(ends))
        left = np.full(onward.shape, -1, dtype=np.int64)
        left[ends, columns] = 0
        while True:
            beyond = left[np.maximum(onward, 0), columns[None, :]]
            news = (left < 0) & (onward >= 0) & (beyond >= 0)
            if not news.any():
                return left
            left[news] = beyond[news] + 1

    def _why(self, leaf: int, end: int, onward: Ints) -> str:
        at, seen = leaf, [leaf]
        while at != end:
            at = int(onward[at])
            if at < 0:
                return f"it ends at {self.fabric.name(self.order[seen[-1]])}"
            if at in seen:
                names = [self.fabric.name(self.order[it]) for it in seen[seen.index(at) :]]
                return "it goes round: " + ", ".join([*names, names[0]])
            seen.append(at)
        return f"{self.fabric.name(self.order[end])} sends it to another port"

    def _loop(self, waits: Ints) -> list[int]:
        """Channels that wait for each other. What waits for nothing is taken away until only
        loops are left: networkx would need minutes to look through the largest fabrics."""
        base = len(self.order) * self.radix
        holder, wanted = np.divmod(waits, base)
        while len(holder):
            keep = np.isin(wanted, holder)
            if keep.all():
                break
            holder, wanted = holder[keep], wanted[keep]
        if not len(holder):
            return []
        graph: nx.DiGraph[int] = nx.DiGraph()
        graph.add_edges_from(zip(holder.tolist(), wanted.tolist(), strict=True))
        return [int(edge[0]) for edge in nx.find_cycle(graph)]

    def shift_load(self) -> int:
        """The most paths that any cable between switches carries while each host sends to the
        one n places on, for the worst n. 1 means that no two are in each other's way."""
        count = len(self.ports)
        if count < 2:
            return 0
        step = max(1, (count - 1) // _SHIFTS) if count > 1024 else 1
        source = np.arange(count)
        worst = 0
        for shift in range(1, count, step):
            target = (source + shift) % count
            at, lids, ends = self.ends.copy(), self.lids[target], self.ends[target]
            passed: list[Ints] = []
            for _ in range(2 * int(self.level.max(initial=0)) + 2):
                moving = np.flatnonzero(at != ends)
                if not len(moving):
                    break
                out = self.out[at[moving], lids[moving]]
                passed.append(at[moving] * self.radix + out)
                at[moving] = np.maximum(self.far[at[moving], out], 0)
            if passed:
                worst = max(worst, int(np.bincount(np.concatenate(passed)).max()))
        return worst
