# SPDX-License-Identifier: Apache-2.0
"""Text for people."""

from collections.abc import Sequence

import click

from vgpu.errors import VgpuError


def say(word: str, error: VgpuError) -> None:
    """On standard error: the fact after the word, and what to do about it."""
    click.echo(f"{word}: {error.fact}", err=True)
    if error.hint:
        click.echo(f"Hint: {error.hint}", err=True)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns two spaces apart, no wider than their widest cell, and no trailing blanks."""
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
