# SPDX-License-Identifier: Apache-2.0
"""Policies: which node, and which of its GPUs."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vgpu.pool.placement.fragment import Both, Filled, Floats, Measure, Usual
from vgpu.pool.placement.model import WHOLE, Bools, Cluster, Ints, Placement, Request
from vgpu.pool.placement.packing import values

REFUSED = -np.inf


class Policy(ABC):
    """Scores of nodes are kept by what is asked of CPU and GPU: a placement changes one node, and
    only the nodes that changed since are scored again."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._kept: dict[tuple[int, int, int, int, frozenset[str]], _Kept] = {}

    def place(self, request: Request) -> Placement | None:
        kept = self._scores(request)
        score = kept.score
        if request.memory:
            score = np.where(self.cluster.memory >= request.memory, score, REFUSED)
        row = self.pick(score)
        if score[row] == REFUSED:
            return None
        return Placement(row, self._gpus(request, row, int(kept.choice[row])))

    def pick(self, score: Floats) -> int:
        return int(np.argmax(score))

    def _scores(self, request: Request) -> "_Kept":
        key = (request.cpu, request.gpus, request.share, request.gpu_memory, request.models)
        cluster = self.cluster
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = _Kept(
                np.full(len(cluster.nodes), REFUSED),
                np.zeros(len(cluster.nodes), dtype=np.int64),
                cluster.allowed(request.models),
            )
            rows = np.flatnonzero(kept.allowed)
        else:
            rows = np.flatnonzero((cluster.changed_at > kept.seen) & kept.allowed)
        kept.seen = cluster.changes
        if len(rows):
            bare = Request(request.cpu, 0, request.gpus, request.share, request.gpu_memory)
            good = cluster.fits(bare, rows)
            kept.score[rows[~good]] = REFUSED
            rows = rows[good]
            if len(rows):
                kept.score[rows], kept.choice[rows] = self.score(bare, rows)
        return kept

    def _gpus(self, request: Request, row: int, choice: int) -> tuple[int, ...]:
        if not request.gpus:
            return ()
        if request.gpus == 1:
            return (choice,)
        usable = np.flatnonzero(self.cluster.usable(request, np.array([row]))[0])
        return tuple(int(it) for it in usable[: request.gpus])

    @abstractmethod
    def score(self, request: Request, rows: Ints) -> tuple[Floats, Ints]:
        """The more, the better; and of a job for one GPU, which of the node's GPUs."""

    def tightest(self, request: Request, rows: Ints) -> Ints:
        """The GPU with the least left that is still enough."""
        left = np.where(self.cluster.usable(request, rows), self.cluster.free[rows], WHOLE + 1)
        found: Ints = np.argmin(left, axis=1)
        return found


@dataclass
class _Kept:
    score: Floats
    choice: Ints
    allowed: Bools
    seen: int = 0


class Random(Policy):
    def __init__(self, cluster: Cluster, seed: int) -> None:
        super().__init__(cluster)
        self._random = np.random.default_rng(seed)

    def pick(self, score: Floats) -> int:
        return int(self._random.choice(np.flatnonzero(score == score.max())))

    def _gpus(self, request: Request, row: int, choice: int) -> tuple[int, ...]:
        if request.gpus == 1:
            usable = np.flatnonzero(self.cluster.usable(request, np.array([row]))[0])
            choice = int(self._random.choice(usable))
        return super()._gpus(request, row, choice)

    def score(self, request: Request, rows: Ints) -> tuple[Floats, Ints]:
        return np.zeros(len(rows)), np.zeros(len(rows), dtype=np.int64)


class BestFit(Policy):
    """The node with the least left, CPU and GPU weighing the same; whole per cent, and by chance
    one of equals, as published."""

    MAX_CPU = 128_000
    MAX_GPU = 8 * WHOLE

    def __init__(self, cluster: Cluster, seed: int) -> None:
        super().__init__(cluster)
        self._random = np.random.default_rng(seed)

    def pick(self, score: Floats) -> int:
        return int(self._random.choice(np.flatnonzero(score == score.max())))

    def score(self, request: Request, rows: Ints) -> tuple[Floats, Ints]:
        cpu = (self.cluster.cpu[rows] - request.cpu) / self.MAX_CPU
        gpu = (self.cluster.free[rows].sum(axis=1) - request.total) / self.MAX_GPU
        return np.floor((1.0 - 0.5 * cpu - 0.5 * gpu) * 100), self.tightest(request, rows)


class Fgd(Policy):
    """The node, and the GPU, that loses least: fragmentation gradient descent, whole per cent of
    a sigmoid and the first of equals, as published."""

    def __init__(self, cluster: Cluster, usual: Measure) -> None:
        super().__init__(cluster)
        self.usual = usual
        self._lost: Floats = np.zeros(len(cluster.nodes))
        self._lost_at: Ints = np.full(len(cluster.nodes), -1)

    def score(self, request: Request, rows: Ints) -> tuple[Floats, Ints]:
        change, choice, owner = self.gain(request, rows)
        score = np.floor(100.0 / (1.0 + np.exp(-change / WHOLE)))
        return _best(score, choice, owner, len(rows))

    def gain(self, request: Request, rows: Ints) -> tuple[Floats, Ints, Ints]:
        """By which GPU, and for which of the rows: by how much the loss shrinks."""
        cluster = self.cluster
        old = rows[self._lost_at[rows] != cluster.changed_at[rows]]
        if len(old):
            self._lost[old] = self.usual.lost(
                cluster.cpu[old], cluster.free[old], cluster.model[old]
            )
            self._lost_at[old] = cluster.changed_at[old]
        owner, choice = options(cluster, request, rows)
        free = cluster.free[rows[owner]]
        if request.gpus == 1:
            free[np.arange(len(free)), choice] -= request.share
        elif request.gpus:
            usable = cluster.usable(request, rows)
            first = usable & (np.cumsum(usable, axis=1) <= request.gpus)
            free = free - first[owner] * request.share
        after = self.usual.lost(
            cluster.cpu[rows[owner]] - request.cpu, free, cluster.model[rows[owner]]
        )
        return self._lost[rows[owner]] - after, choice, owner


class Vgpu(Fgd):
    """FGD, with two things that it does not see: what is left of a GPU is worth the shares that
    fit into it together (packing.values), not one by one; and CPU runs short by and by."""

    # How much of the loss is that of a node filled to the end. More of it and jobs of many GPUs
    # find no whole node any more.
    FILLED = 0.05
    # Per cent of FGD's scale for each thousandth of a GPU lost to a bad fit. From 0.1 to 0.4 it
    # made up to 0.3 points of difference, on one seed of four workloads.
    FIT = 0.15

    def __init__(self, cluster: Cluster, requests: Sequence[Request]) -> None:
        both = Both(Usual(requests, cluster), Filled(requests, cluster), self.FILLED)
        super().__init__(cluster, both)
        self.values = values(requests)

    def score(self, request: Request, rows: Ints) -> tuple[Floats, Ints]:
        change, choice, owner = self.gain(request, rows)
        score = np.floor(100.0 / (1.0 + np.exp(-change / WHOLE)))
        if request.gpus == 1 and request.share < WHOLE:
            free = self.cluster.free[rows[owner], choice]
            score -= self.FIT * (self.values[free] - self.values[free - request.share])
        return _best(score, choice, owner, len(rows))


def options(cluster: Cluster, request: Request, rows: Ints) -> tuple[Ints, Ints]:
    """The ways to place the request: an index into rows, and a GPU. GPUs of a node that have the
    same left are one way."""
    if request.gpus != 1 or request.share == WHOLE:
        usable = cluster.usable(request, rows)
        return np.arange(len(rows)), np.argmax(usable, axis=1)
    usable = cluster.usable(request, rows)
    free = cluster.free[rows]
    twin = np.zeros_like(usable)
    for gpu in range(1, free.shape[1]):
        twin[:, gpu] = (free[:, :gpu] == free[:, gpu : gpu + 1]).any(axis=1)
    if not cluster.gpu_memory.any():
        usable &= ~twin
    owner, choice = np.nonzero(usable)
    return owner, choice


def _best(score: Floats, choice: Ints, owner: Ints, size: int) -> tuple[Floats, Ints]:
    """The best way of each node; of equals the first."""
    if len(owner) == size:
        return score, choice
    order = np.lexsort((np.arange(len(owner)), -score, owner))
    first = np.ones(len(owner), dtype=np.bool_)
    first[1:] = owner[order][1:] != owner[order][:-1]
    picked = order[first]
    return score[picked], choice[picked]
