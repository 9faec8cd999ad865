# SPDX-License-Identifier: Apache-2.0
"""A cache of things that are slow to make, each under a key made of all its inputs.

An entry appears whole or not at all (made aside, then renamed), and two processes that want the
same entry make it once.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def root() -> Path:
    base = os.environ.get("VGPU_CACHE")
    if base:
        return Path(base)
    xdg = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(xdg) / "vgpu"


def key(*inputs: object) -> str:
    """A name for `inputs`; a Path stands for the content of the file."""
    digest = hashlib.sha256()
    for item in inputs:
        data = item.read_bytes() if isinstance(item, Path) else repr(item).encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:20]


@contextmanager
def locked(name: str) -> Iterator[None]:
    locks = root() / "locks"
    locks.mkdir(parents=True, exist_ok=True)
    with open(locks / name, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def say(message: str) -> None:
    print(f"[guest] {message}", file=sys.stderr, flush=True)


def entry(kind: str, name: str, make: Callable[[Path], None], what: str = "") -> Path:
    """The directory `kind`/`name`, made by `make(directory)` when it is not there yet."""
    path = root() / kind / name
    if path.exists():
        return path
    with locked(f"{kind}-{name}"):
        if path.exists():
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        if what:
            say(what)
        temporary = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=path.parent))
        try:
            temporary.chmod(0o755)
            make(temporary)
            temporary.rename(path)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
    return path


def prune(kind: str, keep: int) -> None:
    """Removes all but the `keep` entries that were used last."""
    found = [path for path in (root() / kind).iterdir() if not path.name.startswith(".")]
    for path in sorted(found, key=lambda entry: entry.stat().st_mtime)[:-keep]:
        shutil.rmtree(path, ignore_errors=True)
