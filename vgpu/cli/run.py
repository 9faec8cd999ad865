# SPDX-License-Identifier: Apache-2.0
"""run."""

import sys

import click

from vgpu.errors import UsageError
from vgpu.manager import Manager, RunOptions


class _Run(click.Command):
    """Options may stand before NAME and after it; all from COMMAND on is COMMAND's own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        before, rest = self._split_options(ctx, args)
        after, command = self._split_options(ctx, rest[1:])
        if command[:1] == ["--"]:
            command = command[1:]
        return super().parse_args(ctx, [*before, *after, "--", *rest[:1], *command])

    def _split_options(self, ctx: click.Context, args: list[str]) -> tuple[list[str], list[str]]:
        valued = {
            name
            for option in self.get_params(ctx)
            if isinstance(option, click.Option) and not option.is_flag
            for name in option.opts
        }
        end = 0
        while end < len(args) and args[end].startswith("-") and args[end] != "--":
            end += 2 if args[end] in valued else 1
        return args[:end], args[end:]


@click.command(cls=_Run)
@click.argument("name")
@click.option(
    "--rootfs",
    metavar="DIR",
    help="Directory to use as the container's root, instead of the host's read-only.",
)
@click.option(
    "--env", "-e", "env", multiple=True, metavar="NAME=VALUE", help="Set an environment variable."
)
@click.option("--user", metavar="UID[:GID]", default="0", help="Run as this user, not as root.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(
    name: str, rootfs: str | None, env: tuple[str, ...], user: str, command: tuple[str, ...]
) -> None:
    """Run COMMAND in a container that has the slices of NAME and no other GPU.

    Its root is the host's, read-only, with its own /tmp, /dev and /run.
    """
    uid, gid = _user(user)
    options = RunOptions(rootfs=rootfs, env=dict(map(_variable, env)), uid=uid, gid=gid)
    sys.exit(Manager().run(name, command, options))


def _variable(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not name or not separator:
        raise UsageError(f"--env {text}: no value", "write it as NAME=VALUE")
    return name, value


def _user(text: str) -> tuple[int, int]:
    uid, _, gid = text.partition(":")
    if not uid.isdecimal() or not (gid or uid).isdecimal():
        raise UsageError(f"--user {text}: not a number", "write it as UID or UID:GID")
    return int(uid), int(gid or uid)
