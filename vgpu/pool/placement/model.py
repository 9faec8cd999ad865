# SPDX-License-Identifier: Apache-2.0
"""Requests, and the state of a cluster as arrays: nodes are rows, GPUs are columns."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

WHOLE = 1000


@dataclass(frozen=True)
class Request:
    """What one job wants of one node. share is thousandths of a GPU for each of its GPUs, and
    less than 1000 only for a job of one; gpu_memory is MiB on each. models: any when empty."""

    cpu: int
    memory: int
    gpus: int = 0
    share: int = 0
    gpu_memory: int = 0
    models: frozenset[str] = field(default_factory=frozenset)

    @property
    def total(self) -> int:
        return self.gpus * self.share

    @property
    def whole(self) -> bool:
        return self.gpus > 0 and self.share == WHOLE


@dataclass(frozen=True)
class NodeSpec:
    name: str
    cpu: int
    memory: int
    gpus: int
    model: str = ""
    gpu_memory: int = 0


@dataclass(frozen=True)
class Placement:
    node: int
    gpus: tuple[int, ...]


class Cluster:
    """What is free. A GPU that a node does not have is one with nothing free."""

    def __init__(self, nodes: Sequence[NodeSpec]) -> None:
        self.nodes = list(nodes)
        size = len(self.nodes)
        width = max((node.gpus for node in self.nodes), default=0) or 1
        self.cpu: Ints = np.array([node.cpu for node in self.nodes], dtype=np.int64)
        self.memory: Ints = np.array([node.memory for node in self.nodes], dtype=np.int64)
        self.gpu_count: Ints = np.array([node.gpus for node in self.nodes], dtype=np.int64)
        self.models = sorted({node.model for node in self.nodes})
        number = {model: i for i, model in enumerate(self.models)}
        self.model: Ints = np.array([number[node.model] for node in self.nodes], dtype=np.int64)
        self.free: Ints = np.zeros((size, width), dtype=np.int64)
        self.gpu_free: Ints = np.zeros((size, width), dtype=np.int64)
        for row, node in enumerate(self.nodes):
            self.free[row, : node.gpus] = WHOLE
            self.gpu_free[row, : node.gpus] = node.gpu_memory
        self.capacity = int(self.free.sum())
        self.gpu_memory: Ints = np.array([node.gpu_memory for node in self.nodes], dtype=np.int64)
        self.changes = 0
        self.changed_at: Ints = np.zeros(size, dtype=np.int64)

    def allowed(self, models: frozenset[str]) -> Bools:
        if not models:
            return np.ones(len(self.nodes), dtype=np.bool_)
        return np.array([model in models for model in self.models], dtype=np.bool_)[self.model]

    def fits(self, request: Request, rows: Ints) -> Bools:
        """Everything but the model of the GPU."""
        good = (self.cpu[rows] >= request.cpu) & (self.memory[rows] >= request.memory)
        if request.gpus:
            good &= self.usable(request, rows).sum(axis=1) >= request.gpus
        return good

    def usable(self, request: Request, rows: Ints) -> Bools:
        """The GPUs that have what is wanted of one of them."""
        good = self.free[rows] >= request.share
        if request.gpu_memory:
            good &= self.gpu_free[rows] >= request.gpu_memory
        return good

    def take(self, request: Request, place: Placement) -> None:
        self._move(request, place, 1)

    def give(self, request: Request, place: Placement) -> None:
        self._move(request, place, -1)

    def _move(self, request: Request, place: Placement, sign: int) -> None:
        row = place.node
        self.cpu[row] -= sign * request.cpu
        self.memory[row] -= sign * request.memory
        for gpu in place.gpus:
            self.free[row, gpu] -= sign * request.share
            self.gpu_free[row, gpu] -= sign * request.gpu_memory
        self.changes += 1
        self.changed_at[row] = self.changes
        if sign > 0 and (self.cpu[row] < 0 or self.memory[row] < 0 or (self.free[row] < 0).any()):
            raise AssertionError(f"{self.nodes[row].name} is given more than it has")
