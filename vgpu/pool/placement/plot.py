# SPDX-License-Identifier: Apache-2.0
"""Draws allocation and fragmentation over arrivals as SVG."""

from collections.abc import Iterable, Sequence
from html import escape

_WIDTH, _HEIGHT, _MARGIN = 360, 240, 40
_COLOURS = ("#2a6f97", "#c1121f", "#588157", "#6d597a", "#bc6c25")

Curve = Sequence[tuple[float, float, float]]


def svg(curves: Sequence[tuple[str, Curve]]) -> str:
    right = max((point[0] for _, curve in curves for point in curve), default=100.0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * _WIDTH} {_HEIGHT}" '
        'font-family="sans-serif" font-size="9">'
    ]
    parts += _chart(0, "allocated, % of all GPUs", right, [(it, c, 1) for it, c in curves])
    parts += _chart(_WIDTH, "of what is free, % lost", right, [(it, c, 2) for it, c in curves])
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _chart(
    left: int, title: str, right: float, curves: Iterable[tuple[str, Curve, int]]
) -> list[str]:
    def x(value: float) -> float:
        return left + _MARGIN + value / right * (_WIDTH - 2 * _MARGIN)

    def y(value: float) -> float:
        return _HEIGHT - _MARGIN - value / 100 * (_HEIGHT - 2 * _MARGIN)

    parts = [f'<text x="{left + _MARGIN}" y="{_MARGIN - 12}">{title}</text>']
    for value in (0, 25, 50, 75, 100):
        parts.append(
            f'<line x1="{x(0):.1f}" x2="{x(right):.1f}" y1="{y(value):.1f}" y2="{y(value):.1f}" '
            f'stroke="#ddd"/><text x="{x(0) - 22:.1f}" y="{y(value) + 3:.1f}">{value}</text>'
        )
    for value in range(0, int(right) + 1, 20):
        parts.append(f'<text x="{x(value) - 6:.1f}" y="{y(0) + 14:.1f}">{value}</text>')
    parts.append(f'<text x="{x(0):.1f}" y="{y(0) + 28:.1f}">arrived, % of all GPUs</text>')
    for number, (name, curve, column) in enumerate(curves):
        colour = _COLOURS[number % len(_COLOURS)]
        points = " ".join(f"{x(point[0]):.1f},{y(point[column]):.1f}" for point in curve)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}"/>')
        parts.append(
            f'<text x="{x(right) - 50:.1f}" y="{y(5) - 11 * number:.1f}" fill="{colour}">'
            f"{escape(name)}</text>"
        )
    return parts
