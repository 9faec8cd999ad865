# SPDX-License-Identifier: Apache-2.0
"""Runs the check_* functions of a file, each in a process of its own."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

import nvrm


def wait_until(condition: Callable[[], object], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, nvrm.books()
        time.sleep(0.0005)


def run(found: dict[str, Any]) -> int:
    """The functions named as arguments, or all; 0 when none failed and none left memory behind."""
    failed = 0
    for name in sys.argv[1:] or [name for name in found if name.startswith("check_")]:
        pid = os.fork()
        if pid == 0:
            try:
                found[name]()
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        bad = os.waitpid(pid, 0)[1] != 0
        wait_until(lambda: nvrm.used() == 0)
        failed += bad
        print(f"{'FAILED' if bad else 'ok':6} {name}", flush=True)
    return failed != 0
