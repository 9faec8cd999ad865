# SPDX-License-Identifier: Apache-2.0
"""The tests of core and abi once more over a build with ASAN and UBSAN."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ring0.build import TREE, Builder, preload

FLAGS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")
TESTS = [
    "tests/abi",
    "tests/core/test_ledger.py",
    "tests/core/test_book.py",
    "tests/core/test_range.py",
    "tests/core/test_written.py",
    "tests/core/test_recorded.py",
]


@pytest.fixture(scope="module")
def builder() -> Builder:
    return Builder(TREE / "build/asan", *FLAGS)


def test_core_and_abi_under_sanitizers(builder: Builder) -> None:
    extension = builder.link("_native")
    env = os.environ | {
        "LD_PRELOAD": preload("libasan.so", "libubsan.so"),
        "VGPU_NATIVE": str(extension),
        "HYPOTHESIS_PROFILE": "short",
        # Python keeps what it allocated; leaks of the C cannot be, it allocates nothing.
        "ASAN_OPTIONS": "detect_leaks=0",
        # Python's own allocator hides the ends of small buffers.
        "PYTHONMALLOC": "malloc",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
    done = subprocess.run(command, env=env, cwd=TREE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def test_the_sanitizers_see_an_overrun(builder: Builder, tmp_path: Path) -> None:
    source = TREE / "kmod/core/ledger.c"
    broken = tmp_path / "kmod/core/ledger.c"
    broken.parent.mkdir(parents=True)
    text = source.read_text().replace('#include "', f'#include "{source.parent}/')
    broken.write_text(text.replace("kind >= VGPU_CHARGE_KINDS", "kind > 64"))
    extension = builder.link("overrun", {source.relative_to(TREE): broken})
    code = (
        "from ring0.native import lib, ffi; l = ffi.new('struct vgpu_ledger *');"
        "lib.vgpu_ledger_init(l, 9); lib.vgpu_ledger_try_charge(l, 60, 1)"
    )
    env = os.environ | {
        "LD_PRELOAD": preload("libasan.so", "libubsan.so"),
        "VGPU_NATIVE": str(extension),
        "PYTHONPATH": str(Path(__file__).parent.parent),
        "ASAN_OPTIONS": "detect_leaks=0",
    }
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode != 0
    assert "ledger.c" in done.stderr
