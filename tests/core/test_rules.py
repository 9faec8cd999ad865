# SPDX-License-Identifier: Apache-2.0
"""The rules of docs/architecture.md for core, abi and Python that a machine can check."""

import re
import subprocess
from pathlib import Path

import pytest
from ring0.build import FREESTANDING, TREE, compiler
from ring0.native import ffi, lib

FILES = sorted([*TREE.glob("kmod/core/*.[ch]"), *TREE.glob("kmod/abi/*.[ch]")])
PORT = TREE / "kmod/core/port.h"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_core_and_abi_include_only_port_and_their_own(path: Path) -> None:
    text = path.read_text()
    if path == PORT:
        return
    included = {
        (path.parent / name).resolve() for name in re.findall(r'^#\s*include "(.*)"', text, re.M)
    }
    assert not re.findall(r"^#\s*include <.*", text, re.M)
    assert included <= {PORT, *path.parent.glob("*.h")}
    assert "__KERNEL__" not in text


def test_core_and_abi_need_nothing_but_memory_functions(tmp_path: Path) -> None:
    objects = []
    for source in FREESTANDING:
        objects.append(str(tmp_path / f"{source.stem}.o"))
        command = [compiler(), "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2"]
        command += ["-ffreestanding", "-nostdlib", "-c", str(TREE / source), "-o", objects[-1]]
        subprocess.run(command, check=True)
    whole = tmp_path / "whole.o"
    subprocess.run(["ld", "-r", *objects, "-o", whole], check=True)
    undefined = subprocess.run(["nm", "-u", whole], check=True, capture_output=True, text=True)
    assert set(undefined.stdout.split()) - {"U"} <= {"memcpy", "memmove", "memset"}
    defined = subprocess.run(
        ["nm", "-g", "--defined-only", whole], check=True, capture_output=True, text=True
    )
    names = {line.split()[-1] for line in defined.stdout.splitlines()}
    assert {name for name in names if not name.startswith("vgpu_")} == set()


def test_python_types_no_layout_and_no_ioctl_number() -> None:
    for path in (TREE / "vgpu").rglob("*.py"):
        found = re.findall(r"_IO[WR]*\(|\b_IOWR\b|struct\.pack|struct\.unpack", path.read_text())
        assert not found, path


def test_python_and_the_compiler_agree_on_every_struct() -> None:
    """cffi checks size and offsets of a struct at its first use."""
    names = [name for name in ffi.list_types()[1] if name.startswith("vgpu_")]
    assert len(names) > 20
    for name in names:
        assert ffi.sizeof(f"struct {name}") > 0


def test_the_typed_face_names_what_is_there() -> None:
    stub = (TREE / "vgpu/_native.pyi").read_text()
    body = stub[stub.index("class _Lib") : stub.index("\nffi: _FFI")]
    names = re.findall(r"^    (?:def )?(\w+)[:(]", body, re.M)
    assert len(names) > 20
    assert [name for name in names if not hasattr(lib, name)] == []
