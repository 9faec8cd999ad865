# SPDX-License-Identifier: Apache-2.0
"""What is left of a GPU, valued by the shares that will be put into it."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from ortools.linear_solver import pywraplp

from vgpu.pool.placement.fragment import Floats
from vgpu.pool.placement.model import WHOLE, Request

_ROUNDS = 300


def values(requests: Iterable[Request]) -> Floats:
    """By thousandths left: how many thousandths of a GPU they save.

    The shares of the requests are packed into as few GPUs as a linear programme can, by column
    generation (Gilmore and Gomory, A linear programming approach to the cutting-stock problem,
    1961). Its dual prices say what part of a GPU each share costs; what is left of a GPU is worth
    the best sum of prices that goes into it.
    """
    count = Counter(it.share for it in requests if it.gpus == 1 and it.share < WHOLE)
    sizes = sorted(count)
    if not sizes:
        return np.zeros(WHOLE + 1)
    patterns = [Counter({size: WHOLE // size}) for size in sizes]
    for _ in range(_ROUNDS):
        worth, last = _fill(sizes, _prices(sizes, count, patterns))
        if worth[WHOLE] <= 1 + 1e-6:
            break
        pattern: Counter[int] = Counter()
        left = WHOLE
        while left > 0:
            if last[left]:
                pattern[last[left]] += 1
            left -= last[left] or 1
        patterns.append(pattern)
    return WHOLE * worth


def _prices(sizes: Sequence[int], count: Counter[int], patterns: Sequence[Counter[int]]) -> Floats:
    solver = pywraplp.Solver.CreateSolver("GLOP")
    objective = solver.Objective()
    objective.SetMinimization()
    demand = {it: solver.Constraint(float(count[it]), solver.infinity()) for it in sizes}
    for pattern in patterns:
        used = solver.NumVar(0.0, solver.infinity(), "")
        objective.SetCoefficient(used, 1.0)
        for size, times in pattern.items():
            demand[size].SetCoefficient(used, times)
    solver.Solve()
    return np.array([demand[size].dual_value() for size in sizes])


def _fill(sizes: Sequence[int], prices: Floats) -> tuple[Floats, list[int]]:
    """The best sum of prices by room, and the size put in last (0: none)."""
    worth = np.zeros(WHOLE + 1)
    last = [0] * (WHOLE + 1)
    ordered = np.array(sizes)
    for room in range(1, WHOLE + 1):
        worth[room] = worth[room - 1]
        fitting = int(np.searchsorted(ordered, room, side="right"))
        if fitting:
            sums = worth[room - ordered[:fitting]] + prices[:fitting]
            best = int(np.argmax(sums))
            if sums[best] > worth[room] + 1e-12:
                worth[room] = sums[best]
                last[room] = sizes[best]
    return worth, last
