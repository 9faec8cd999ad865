# SPDX-License-Identifier: Apache-2.0
"""Draws a fabric as SVG: a row for each level of switches, the hosts of a leaf below it."""

from html import escape

from vgpu.pool.fabric.graph import Fabric
from vgpu.pool.fabric.routes import Usage

_STEP, _ROW, _MARGIN = 26, 110, 40
_RATES = {"HDR": "#2a6f97", "NDR": "#1b4332", "XDR": "#1b4332", "EDR": "#468faf"}


def _colour(share: float) -> str:
    """From grey for the mean to red for twice of it."""
    hot = min(max(share - 1.0, 0.0), 1.0)
    return f"rgb({int(150 + 90 * hot)},{int(150 - 110 * hot)},{int(150 - 110 * hot)})"


def svg(fabric: Fabric, usage: Usage | None) -> str:
    rows = fabric.by_level
    width = max((len(row) for row in rows), default=1) * _STEP + 2 * _MARGIN
    height = len(rows) * _ROW + _ROW
    at: dict[int, tuple[float, float]] = {}
    for level, row in enumerate(rows):
        y = float(height - _ROW - level * _ROW)
        for number, guid in enumerate(row):
            at[guid] = ((number + 0.5) * (width - 2 * _MARGIN) / len(row) + _MARGIN, y)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="7">'
    ]
    mean = sum(usage.load.values()) / len(usage.load) if usage and usage.load else 0.0
    for link in fabric.links:
        (x1, y1), (x2, y2) = at[link.low], at[link.high]
        paths = 0
        if usage:
            paths = max(
                usage.load.get((link.low, link.low_port), 0),
                usage.load.get((link.high, link.high_port), 0),
            )
        colour = (
            _colour(paths / mean)
            if mean
            else _RATES.get(link.rate.speed if link.rate else "", "#999")
        )
        told = f"{fabric.name(link.low)} - {fabric.name(link.high)} {link.rate or ''}"
        told += f" {paths} paths" if usage else ""
        parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="0.6"><title>{escape(told)}</title></line>'
        )
    for guid, (x, y) in at.items():
        name = escape(fabric.name(guid))
        parts.append(
            f'<rect x="{x - 9:.1f}" y="{y - 5:.1f}" width="18" height="10" rx="2" fill="#fff" '
            f'stroke="#333"><title>{name}</title></rect>'
        )
        hosts = {port.host for port in fabric.ports_of_leaf.get(guid, ())}
        if hosts:
            told = escape(", ".join(sorted(hosts)))
            parts.append(
                f'<text x="{x:.1f}" y="{y + 20:.1f}" text-anchor="middle">{len(hosts)}'
                f"<title>{told}</title></text>"
            )
        parts.append(
            f'<text transform="translate({x + 2:.1f},{y + 28:.1f}) rotate(60)">{name}</text>'
            if fabric.levels[guid] == 0
            else f'<text transform="translate({x:.1f},{y - 8:.1f}) rotate(-40)">{name}</text>'
        )
    parts.append("</svg>")
    return "\n".join(parts) + "\n"
