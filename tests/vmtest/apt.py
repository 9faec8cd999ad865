# SPDX-License-Identifier: Apache-2.0
"""Debian packages for guests, from the mirrors that this host already uses.

Nothing here changes the host: components that the host does not enable are read through an apt
directory of our own.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import cache
from .errors import VMError

SUITE = "bookworm"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


@dataclass(frozen=True)
class Mirror:
    uri: str
    suite: str

    def line(self, components: str) -> str:
        return f"deb [signed-by={KEYRING}] {self.uri} {self.suite} {components}"


def mirrors() -> list[Mirror]:
    """Debian's own archives of SUITE as the host's apt is configured, in its order."""
    fields = "$(CREATED_BY)|$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(REPO_URI)|$(RELEASE)"
    text = subprocess.run(
        ["apt-get", "indextargets", "--format", fields], check=True, capture_output=True, text=True
    ).stdout
    found: list[Mirror] = []
    for line in text.splitlines():
        created_by, origin, label, component, uri, suite = line.split("|")
        if created_by != "Packages" or component != "main" or origin != "Debian":
            continue
        if label not in ("Debian", "Debian-Security") or suite.split("-")[0] != SUITE:
            continue
        if Mirror(uri, suite) not in found:
            found.append(Mirror(uri, suite))
    if not found:
        raise VMError(
            f"apt on this host has no Debian archive of {SUITE}",
            hint="run on Debian 12, after apt-get update",
        )
    return found


def sources(components: str) -> str:
    return "".join(mirror.line(components) + "\n" for mirror in mirrors())


def acquire_options() -> list[str]:
    """The host's Acquire settings (proxy, retries), for an apt that does not read its files."""
    text = subprocess.run(
        ["apt-config", "dump", "Acquire"], check=True, capture_output=True, text=True
    ).stdout
    wanted = ("Acquire::http::", "Acquire::https::", "Acquire::Retries")
    return [line.rstrip(";") for line in text.splitlines() if line.startswith(wanted)]


class PrivateApt:
    """apt with a sources list, package lists and archives of its own."""

    def __init__(self, components: str) -> None:
        text = sources(components)
        self.dir = cache.root() / "apt" / cache.key(text)
        self.options = [
            "-o", f"Dir::Etc::sourcelist={self.dir}/sources.list",
            "-o", "Dir::Etc::sourceparts=-",
            "-o", f"Dir::State::lists={self.dir}/lists",
            "-o", f"Dir::Cache={self.dir}/cache",
            "-o", "APT::Sandbox::User=root",
        ]  # fmt: skip
        (self.dir / "lists" / "partial").mkdir(parents=True, exist_ok=True)
        (self.dir / "cache" / "archives" / "partial").mkdir(parents=True, exist_ok=True)
        (self.dir / "sources.list").write_text(text)

    def update(self) -> None:
        self._run(["apt-get", "-q", *self.options, "update"])

    def versions(self, package: str) -> list[str]:
        """Newest first."""
        text = self._run(["apt-cache", *self.options, "madison", package])
        return [line.split("|")[1].strip() for line in text.splitlines() if "|" in line]

    def download(self, packages: Sequence[str], directory: Path) -> list[Path]:
        """Fetches NAME or NAME=VERSION into `directory`."""
        self._run(["apt-get", "-q", *self.options, "download", *packages], cwd=directory)
        return sorted(directory.glob("*.deb"))

    def _run(self, argv: list[str], cwd: Path | None = None) -> str:
        done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True)
        if done.returncode:
            raise VMError(f"{argv[0]} failed: {done.stderr.strip()}", hint="see apt's own message")
        return done.stdout


def unpack(package: Path, directory: Path) -> None:
    subprocess.run(["dpkg-deb", "-x", package, directory], check=True)
