# SPDX-License-Identifier: Apache-2.0
"""Builds vgpu._native: the uapi header as the C compiler sees it, and the C that Python runs.

Nothing of the header is typed again here: what it declares is read from the preprocessor's output,
and the compiler checks sizes and offsets when the extension is built and used.
"""

import os
import re
import subprocess
import sysconfig
from pathlib import Path

from cffi import FFI

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "kmod/include/uapi"
HEADER = INCLUDE / "linux/vgpu.h"

TYPES = """
typedef uint8_t __u8;
typedef uint16_t __u16;
typedef uint32_t __u32;
typedef int32_t __s32;
typedef uint64_t __u64;
"""


def _cc() -> list[str]:
    return (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()


def macros(header: Path) -> str:
    """Declarations of the header's object-like macros; their values stay with the compiler."""
    out = []
    for name, value in re.findall(r"^#define[ \t]+(\w+)[ \t]+(\S.*)$", header.read_text(), re.M):
        is_text = value.startswith('"')
        out.append(f"static char *const {name};" if is_text else f"#define {name} ...")
    return "\n".join(out).replace("#define VGPU_IOC_MAGIC ...", "")


def declarations(header: Path, *flags: str) -> str:
    """What the preprocessor leaves of the header's own lines, without attributes."""
    text = subprocess.run(
        [*_cc(), "-E", *flags, os.fspath(header)], check=True, capture_output=True, text=True
    ).stdout
    own, lines = False, []
    for line in text.splitlines():
        marker = re.match(r'# \d+ "(.*?)"', line)
        if marker:
            own = marker[1] == os.fspath(header)
        elif own:
            lines.append(line)
    return re.sub(r"__attribute__\s*\(\(.*?\)\)\)?", "", "\n".join(lines))


ffibuilder = FFI()
ffibuilder.cdef(TYPES)
ffibuilder.cdef(macros(HEADER))
ffibuilder.cdef(declarations(HEADER, f"-I{INCLUDE}"))
ffibuilder.set_source(
    "vgpu._native",
    "#include <linux/vgpu.h>",
    include_dirs=[os.path.relpath(INCLUDE, ROOT)],
    py_limited_api=True,
)
