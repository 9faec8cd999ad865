# SPDX-License-Identifier: Apache-2.0
"""Builds vgpu._native again, elsewhere: with sanitizers, or from C that is broken on purpose."""

import shlex
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from vgpu import _build

TREE = _build.ROOT
SOURCES = [path.relative_to(TREE) for path in _build.SOURCES]
FREESTANDING = [path for path in SOURCES if path.parts[0] == "kmod"]


def compiler() -> str:
    return shlex.split(sysconfig.get_config_var("CC") or "cc")[0]


class Builder:
    """Objects are kept in a folder of its own; only what is given anew is compiled anew."""

    def __init__(self, out: Path, *flags: str) -> None:
        self.out, self.flags = out, flags
        out.mkdir(parents=True, exist_ok=True)
        self._objects = {source: self._compile(TREE / source, source.stem) for source in SOURCES}
        self._glue = self._compile(self._emit(), "_native")

    def _emit(self) -> Path:
        path = self.out / "_native.c"
        _build.ffibuilder.emit_c_code(str(path))
        return path

    def _compile(self, source: Path, name: str) -> Path:
        target = self.out / f"{name}.o"
        command = [compiler(), "-g", "-O1", "-fPIC", *self.flags, "-DPy_LIMITED_API"]
        command += [f"-I{directory}" for directory in _build.INCLUDES]
        command += [f"-I{sysconfig.get_path('include')}", "-c", str(source), "-o", str(target)]
        subprocess.run(command, check=True)
        return target

    def link(self, name: str, broken: dict[Path, Path] | None = None) -> Path:
        """The extension, with some sources (relative to the tree) replaced by files elsewhere."""
        objects = dict(self._objects)
        for source, replacement in (broken or {}).items():
            objects[source] = self._compile(replacement, f"{name}-{source.stem}")
        target = self.out / f"{name}.abi3.so"
        command = [compiler(), "-shared", *self.flags, str(self._glue)]
        subprocess.run([*command, *map(str, objects.values()), "-o", str(target)], check=True)
        return target


def preload(*libraries: str) -> str:
    """Paths for LD_PRELOAD, asked of the compiler that links against them."""
    found: Sequence[str] = [
        subprocess.run(
            [compiler(), f"-print-file-name={library}"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for library in libraries
    ]
    return ":".join(path for path in found if Path(path).is_absolute())
