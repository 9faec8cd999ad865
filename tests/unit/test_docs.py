# SPDX-License-Identifier: Apache-2.0
"""What is written for people matches what there is."""

import re
from pathlib import Path

import click
import pytest

from vgpu.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def commands(group: click.Group, name: str = "vgpu") -> dict[str, click.Command]:
    """By what a person types: "vgpu", "vgpu run", "vgpu fabric show"."""
    found: dict[str, click.Command] = {name: group}
    context = click.Context(group)
    for word in group.list_commands(context):
        command = group.get_command(context, word)
        assert command is not None
        if isinstance(command, click.Group):
            found |= commands(command, f"{name} {word}")
        else:
            found[f"{name} {word}"] = command
    return found


COMMANDS = commands(main)


def man_page(command: str) -> str:
    """A group of commands has a page of its own."""
    own = ROOT / "man" / f"{'-'.join(command.split()[:2])}.8"
    page = own if own.exists() else ROOT / "man/vgpu.8"
    return page.read_text().replace("\\-", "-")


@pytest.mark.parametrize("command", COMMANDS)
def test_man_page_has_the_command(command: str) -> None:
    page = man_page(command)
    if isinstance(COMMANDS[command], click.Group):
        assert command.replace(" ", "-") in page
    else:
        assert f".B {command}\n" in page
        assert re.search(rf"^\.TP\n\.B {command.split()[-1]}$", page, re.M)


@pytest.mark.parametrize("command", COMMANDS)
def test_man_page_has_the_options(command: str) -> None:
    page = man_page(command)
    for parameter in COMMANDS[command].get_params(click.Context(COMMANDS[command])):
        if isinstance(parameter, click.Option):
            for option in parameter.opts:
                assert re.search(rf"{re.escape(option)}(?![\w-])", page), option


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_exist(page: Path) -> None:
    text = page.read_text()
    for script in re.findall(r"\bscripts/[\w-]+(?:\.py)?", text):
        assert (ROOT / script).exists(), f"{page.name}: {script}"
    for block in re.findall(r"^```console\n(.*?)^```", text, re.M | re.S):
        for name in re.findall(r"^# vgpu (\w+)", block, re.M):
            assert f"vgpu {name}" in COMMANDS, f"{page.name}: vgpu {name}"


def test_readme_says_what_is_not_limited() -> None:
    """T-DOC1"""
    text = (ROOT / "README.md").read_text()
    for name in ("bandwidth", "L2", "PCIe", "GPU time", "privileged"):
        row = next(line for line in text.splitlines() if line.startswith("|") and name in line)
        assert "not limited" in row
