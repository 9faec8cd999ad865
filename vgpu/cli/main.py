# SPDX-License-Identifier: Apache-2.0
"""Entry point. A command's file is loaded when it is called: most of a short command's time would
else go into imports that it does not use."""

import importlib
import os
import sys
from typing import NoReturn

import click

from vgpu.cli.output import say
from vgpu.errors import VgpuError

_COMMANDS = {
    "calibrate": "vgpu.cli.calibrate",
    "check": "vgpu.cli.check",
    "create": "vgpu.cli.slices",
    "fabric": "vgpu.cli.fabric",
    "list": "vgpu.cli.slices",
    "pool": "vgpu.cli.pool",
    "rm": "vgpu.cli.slices",
    "run": "vgpu.cli.run",
    "show": "vgpu.cli.slices",
    "slurm": "vgpu.cli.slurm",
}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        found = getattr(
            importlib.import_module(_COMMANDS[cmd_name]), cmd_name.replace("list", "list_")
        )
        assert isinstance(found, click.Command)
        return found


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="vgpu", message="vgpu %(version)s")
def main() -> None:
    """Slices of NVIDIA GPUs: so much memory for each container, enforced by the kernel."""


def run() -> NoReturn:
    try:
        code = main(standalone_mode=False) or 0
    except VgpuError as error:
        say("Error", error)
        code = error.exit_code
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        code = 130
    except BrokenPipeError:
        # Whoever read our output is gone; what Python still holds of it has no place to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    sys.exit(code)
