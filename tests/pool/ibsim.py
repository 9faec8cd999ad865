# SPDX-License-Identifier: Apache-2.0
"""A simulated fabric (Debian's ibsim-utils) with the real opensm and the real diagnostic tools."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

UMAD2SIM = Path("/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so")
_serial = count()


def missing() -> str:
    """What is not there to run this, with the remedy; nothing when all is."""
    absent = [it for it in ("ibsim", "opensm", "ibnetdiscover") if not shutil.which(it)]
    if not absent and UMAD2SIM.exists():
        return ""
    what = ", ".join(absent or [str(UMAD2SIM)])
    return f"no {what}: apt install ibsim-utils opensm infiniband-diags"


class Sim:
    """libumad2sim leaves a tree sys-PID in the working directory: that is below folder."""

    def __init__(self, process: "subprocess.Popen[str]", folder: Path, env: dict[str, str]) -> None:
        self._process = process
        self.folder = folder
        self._env = env

    def tell(self, line: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _env_of(self, folder: Path) -> dict[str, str]:
        folder.mkdir(exist_ok=True)
        return self._env | {"OSM_TMP_DIR": f"{folder}/", "OSM_CACHE_DIR": f"{folder}/"}

    def _opensm(self, engine: str, folder: Path, *more: str) -> list[str]:
        log = str(folder / "opensm.log")
        return ["opensm", "-R", engine, "-f", log, "-D", "0x43", "--maxsmps", "64", *more]

    def route(self, engine: str, timeout: float = 120) -> tuple[Path, Path]:
        """Runs opensm once: the discovery after it, and its tables."""
        folder = self.folder / engine
        env = self._env_of(folder)
        subprocess.run(
            self._opensm(engine, folder, "-o"),
            cwd=folder,
            env=env,
            check=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return self.discover(folder / "discovery", timeout), folder / "opensm-lfts.dump"

    def discover(self, path: Path, timeout: float = 120) -> Path:
        with path.open("w") as out:
            subprocess.run(
                ["ibnetdiscover"],
                cwd=self.folder,
                env=self._env,
                check=True,
                timeout=timeout,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.DEVNULL,
            )
        return path

    @contextmanager
    def manager(self, engine: str) -> Iterator[Path]:
        """opensm stays, and sweeps when something changes: the folder of its dumps."""
        folder = self.folder / f"{engine}-stays"
        process = subprocess.Popen(
            self._opensm(engine, folder, "-s", "1"),
            cwd=folder,
            env=self._env_of(folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield folder
        finally:
            process.kill()
            process.wait()


@contextmanager
def simulated(netlist: str, folder: Path, at: str) -> Iterator[Sim]:
    """A fabric of this netlist; the tools run on the node named."""
    (folder / "netlist").write_text(netlist)
    name = f"vgpu-test-{os.getpid()}-{next(_serial)}"
    env = os.environ | {"IBSIM_SOCKNAME": name}
    with (folder / "ibsim.log").open("w") as log:
        process = subprocess.Popen(
            ["ibsim", "-s", "-N", "20000", "-S", "3000", "-P", "200000", "netlist"],
            cwd=folder,
            env=env,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            text=True,
        )
    try:
        wait_for(lambda: f"@{name}:ctl" in Path("/proc/net/unix").read_text(), 30)
        yield Sim(process, folder, env | {"LD_PRELOAD": str(UMAD2SIM), "SIM_HOST": at})
    finally:
        process.kill()
        process.wait()
        if process.stdin:
            process.stdin.close()


def wait_for(done: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.05)
