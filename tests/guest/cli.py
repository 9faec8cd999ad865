# SPDX-License-Identifier: Apache-2.0
"""scripts/vm: a guest for one command, or a shell in it."""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
from pathlib import Path
from typing import NoReturn

from vmtest import CommandTimeout, KernelComplaint, LostVM, VMError
from vmtest.vm import interact

from . import boot
from .image import TREE

# Beside the command's own exit code.
EXIT_COMPLAINT = 123
EXIT_TIMEOUT = 124
EXIT_LOST = 125

UNITS = {"": 20, "M": 20, "G": 30}


def _size(text: str) -> int:
    match = re.fullmatch(r"(\d+)([MG]?)(?:iB|B)?", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text}: not a size such as 2G or 1500M")
    return int(match[1]) << UNITS[match[2]]


def _parser() -> argparse.ArgumentParser:
    guest = argparse.ArgumentParser(add_help=False)
    add = guest.add_argument
    add("--kernel", metavar="VERSION", help="Debian kernel, such as 6.1.0-57-amd64")
    add("--gpus", type=int, metavar="N", help="number of simulated GPUs (1)")
    add("--vram", metavar="SIZE", help="memory of each GPU, or a list: 16G,80G (16G)")
    add("--driver", metavar="VERSION", help="driver that nvsim plays (535.309.01)")
    add("--icount", action="store_true", help="guest time counts instructions; sleeping is free")
    add("--no-vgpu", action="store_true", help="do not load vgpu.ko")
    add("--no-nvsim", action="store_true", help="do not load nvsim.ko")
    add("--module-param", action="append", default=[], metavar="MODULE.NAME=VALUE",
        help="such as nvsim.block_ns=1000; may be repeated")  # fmt: skip
    add("--mem", type=_size, default=2 << 30, metavar="SIZE", help="memory of the guest (2G)")
    add("--no-snapshot", action="store_true", help="boot instead of restoring the snapshot")
    add("--dmesg", action="store_true", help="print the kernel log to standard error at the end")
    add("--timeout", type=float, metavar="SECONDS", help="kill the command after this time")

    parser = argparse.ArgumentParser(
        prog="vm", description=__doc__,
        epilog=f"Exit codes of its own: {EXIT_COMPLAINT} the kernel complained, {EXIT_TIMEOUT} "
               f"timeout, {EXIT_LOST} the guest was lost or could not start.",
    )  # fmt: skip
    commands = parser.add_subparsers(dest="action", required=True)
    commands.add_parser("prepare", parents=[guest], help="make images and snapshot, run nothing")
    commands.add_parser("shell", parents=[guest], help="open a shell in the guest")
    run = commands.add_parser("run", parents=[guest], help="run a command in the guest as root")
    run.add_argument("command", nargs="+", metavar="COMMAND")
    return parser


def _working_directory() -> Path:
    here = Path.cwd()
    return here if here.is_relative_to(TREE) else TREE


def _write(kind: str, data: bytes) -> None:
    stream = sys.stdout if kind == "O" else sys.stderr
    stream.buffer.write(data)
    stream.buffer.flush()


def _act(options: argparse.Namespace) -> int:
    wanted = boot.Options(
        kernel=options.kernel,
        gpus=options.gpus,
        vram=options.vram,
        driver=options.driver,
        icount=options.icount,
        vgpu=not options.no_vgpu,
        nvsim=not options.no_nvsim,
        memory=options.mem,
        snapshot=not options.no_snapshot,
        module_params=options.module_param,
    )
    if options.action == "prepare" and boot.machine(wanted).prepared():
        return 0
    with boot.boot(wanted) as vm:
        try:
            if options.action == "run":
                code = vm.run(
                    options.command, cwd=_working_directory(), timeout=options.timeout,
                    on_output=_write,
                ).returncode  # fmt: skip
            elif options.action == "shell":
                if not sys.stdin.isatty():
                    raise VMError("standard input is not a terminal", hint="use vm run")
                environment = {"TERM": os.environ.get("TERM", "linux"), "PS1": "guest:\\w# "}
                code = interact(
                    vm.popen(["bash", "--norc"], tty=True, cwd=_working_directory(),
                             env=environment, on_output=_write)
                )  # fmt: skip
            else:
                code = 0
            vm.check_log()
        finally:
            if options.dmesg:
                print("\n".join(vm.kernel_log), file=sys.stderr)
    return code if code >= 0 else 128 - code


def _end(number: int, _frame: object) -> NoReturn:
    sys.exit(128 + number)


def main() -> int:
    signal.signal(signal.SIGTERM, _end)
    options = _parser().parse_args()
    try:
        return _act(options)
    except CommandTimeout as error:
        print(f"Error: {str(error).splitlines()[0]}", file=sys.stderr)
        return EXIT_TIMEOUT
    except KernelComplaint as error:
        print(f"Error: {error}", file=sys.stderr)
        return EXIT_COMPLAINT
    except LostVM as error:
        print(f"Error: {error}", file=sys.stderr)
        return EXIT_LOST
    except VMError as error:
        print(f"Error: {error}", file=sys.stderr)
        if error.hint:
            print(f"Hint: {error.hint}", file=sys.stderr)
        return EXIT_LOST
    except KeyboardInterrupt:
        return 130
