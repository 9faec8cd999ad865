# SPDX-License-Identifier: Apache-2.0
"""How much of what is free the usual requests cannot use: the measure of FGD (Weng et al., Beware
of Fragmentation, USENIX ATC 2023)."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from vgpu.pool.placement.model import Bools, Cluster, Ints, Request

Floats = npt.NDArray[np.float64]

# The usual requests are the most frequent ones that make up so much of all (same paper).
POPULAR = 0.95

Key = tuple[int, int, int, frozenset[str]]


def _popular(requests: Iterable[Request]) -> list[tuple[Key, float]]:
    count: Counter[Key] = Counter((it.cpu, it.gpus, it.share, it.models) for it in requests)
    ordered = sorted(count.items(), key=lambda it: (-it[1], it[0][:3], sorted(it[0][3])))
    kept: list[tuple[Key, int]] = []
    covered = 0
    for key, times in ordered:
        if covered >= POPULAR * count.total():
            break
        kept.append((key, times))
        covered += times
    return [(key, times / covered) for key, times in kept]


class Measure(Protocol):
    def lost(self, cpu: Ints, free: Ints, model: Ints) -> Floats:
        """Thousandths of GPUs that are lost on each node."""
        ...


class Usual:
    """What the next usual request, on average, cannot use."""

    def __init__(self, requests: Iterable[Request], cluster: Cluster) -> None:
        kinds: dict[tuple[int, int, frozenset[str]], list[tuple[int, float]]] = defaultdict(list)
        for (cpu, gpus, share, models), part in _popular(requests):
            kinds[gpus, share, models].append((cpu, part))
        asked = sorted(
            (it for it in kinds.items() if it[0][0]), key=lambda it: (it[0][:2], sorted(it[0][2]))
        )
        self.gpus: Ints = np.array([key[0] for key, _ in asked], dtype=np.int64)
        self.share: Ints = np.array([key[1] for key, _ in asked], dtype=np.int64)
        self.allowed: Bools = np.array(
            [[not key[2] or model in key[2] for key, _ in asked] for model in cluster.models],
            dtype=np.bool_,
        ).reshape(len(cluster.models), len(asked))
        # How many of all a node can serve: by its place among the CPU amounts that are asked for,
        # and by kind.
        self.cpu: Ints = np.unique([cpu for _, row in asked for cpu, _ in row]).astype(np.int64)
        self.served: Floats = np.zeros((len(self.cpu) + 1, len(asked)))
        for number, (_, row) in enumerate(asked):
            for cpu, part in row:
                self.served[int(np.searchsorted(self.cpu, cpu)) + 1 :, number] += part

    def lost(self, cpu: Ints, free: Ints, model: Ints) -> Floats:
        total = free.sum(axis=1)
        fits = free[:, :, None] >= self.share
        usable = (np.count_nonzero(fits, axis=1) >= self.gpus) & self.allowed[model]
        part = self.served[np.searchsorted(self.cpu, cpu, side="right")] * usable
        found: Floats = total - np.einsum("ngk,ng,nk->n", fits, free, part, optimize=False)
        return found


class Filled:
    """What stays free, on average, when a node is filled with one kind of the usual requests for
    GPUs alone: unlike Usual, this sees CPU that will be short and shares that will not divide."""

    def __init__(self, requests: Iterable[Request], cluster: Cluster) -> None:
        kept = _popular(it for it in requests if it.gpus)
        self.cpu: Ints = np.array([max(key[0], 1) for key, _ in kept], dtype=np.int64)
        self.gpus: Ints = np.array([key[1] for key, _ in kept], dtype=np.int64)
        self.shares, self.share_of = np.unique(
            np.array([key[2] for key, _ in kept], dtype=np.int64), return_inverse=True
        )
        self.allowed: Bools = np.array(
            [[not key[3] or model in key[3] for key, _ in kept] for model in cluster.models],
            dtype=np.bool_,
        ).reshape(len(cluster.models), len(kept))
        self.amount: Floats = np.array([part * key[1] * key[2] for key, part in kept])

    def lost(self, cpu: Ints, free: Ints, model: Ints) -> Floats:
        room = (free[:, :, None] // self.shares).sum(axis=1)
        times = room[:, self.share_of] // self.gpus
        times = np.minimum(times, cpu[:, None] // self.cpu) * self.allowed[model]
        found: Floats = free.sum(axis=1) - times @ self.amount
        return found


class Both:
    def __init__(self, usual: Usual, filled: Filled, weight: float) -> None:
        self.usual, self.filled, self.weight = usual, filled, weight

    def lost(self, cpu: Ints, free: Ints, model: Ints) -> Floats:
        usual, filled = self.usual.lost(cpu, free, model), self.filled.lost(cpu, free, model)
        return usual + self.weight * (filled - usual)
