# SPDX-License-Identifier: Apache-2.0
"""Builds vgpu._native: the uapi header as the C compiler sees it, and the C that Python runs.

Nothing of the headers is typed again here: what they declare is read from the preprocessor's
output, and the compiler checks sizes and offsets when the extension is built and used.
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
# In the order of their use: each is declared before the next one names its types.
CORE_HEADERS = [
    ROOT / "kmod/core/ledger.h",
    ROOT / "kmod/core/book.h",
    ROOT / "kmod/core/range.h",
    ROOT / "kmod/abi/rm.h",
    ROOT / "kmod/abi/report.h",
]
CALIBRATE = ROOT / "vgpu/calibrate.h"
SOURCES = [
    *sorted((ROOT / "kmod/core").glob("*.c")),
    *sorted((ROOT / "kmod/abi").glob("*.c")),
    CALIBRATE.with_suffix(".c"),
]
INCLUDES = [INCLUDE, ROOT / "kmod", ROOT / "vgpu"]

TYPES = """
typedef uint8_t __u8;
typedef uint16_t __u16;
typedef uint32_t __u32;
typedef int32_t __s32;
typedef uint64_t __u64;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
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


# The system calls that Python 3.11 has no function for; each returns 0 or -errno.
SYSCALLS = """
int sys_ioctl(int fd, unsigned long request, void *arg);
int sys_mount(const char *source, const char *target, const char *type, unsigned long flags,
              const char *data);
int sys_umount(const char *target);
int sys_unshare(int flags);
int sys_die_with_parent(void);
int sys_read_only_tree(const char *path);
#define CLONE_NEWNS ...
#define CLONE_NEWPID ...
#define MS_BIND ...
#define MS_REC ...
#define MS_PRIVATE ...
#define MS_NOSUID ...
#define MS_NOEXEC ...
#define MS_NODEV ...
"""

SYSCALLS_SOURCE = """
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#define OR_ERRNO(call) ((call) < 0 ? -errno : 0)

static int sys_ioctl(int fd, unsigned long request, void *arg)
{
    return OR_ERRNO(ioctl(fd, request, arg));
}

static int sys_mount(const char *source, const char *target, const char *type, unsigned long flags,
                     const char *data)
{
    return OR_ERRNO(mount(source, target, type, flags, data));
}

static int sys_umount(const char *target)
{
    return OR_ERRNO(umount2(target, MNT_DETACH));
}

static int sys_unshare(int flags)
{
    return OR_ERRNO(unshare(flags));
}

static int sys_die_with_parent(void)
{
    return OR_ERRNO(prctl(PR_SET_PDEATHSIG, SIGKILL));
}

static int sys_read_only_tree(const char *path)
{
    struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

    return OR_ERRNO(mount_setattr(AT_FDCWD, path, AT_RECURSIVE, &attr, sizeof(attr)));
}
"""

ffibuilder = FFI()
ffibuilder.cdef(TYPES)
ffibuilder.cdef(macros(HEADER))
ffibuilder.cdef(declarations(HEADER, f"-I{INCLUDE}"))
ffibuilder.cdef(SYSCALLS)
for core_header in CORE_HEADERS:
    ffibuilder.cdef(macros(core_header))
    ffibuilder.cdef(declarations(core_header))
ffibuilder.cdef(declarations(CALIBRATE))
ffibuilder.set_source(
    "vgpu._native",
    "#include <linux/vgpu.h>\n"
    + "".join(f"#include <{header.relative_to(ROOT / 'kmod')}>\n" for header in CORE_HEADERS)
    + f"#include <{CALIBRATE.name}>\n"
    + SYSCALLS_SOURCE,
    include_dirs=[os.path.relpath(directory, ROOT) for directory in INCLUDES],
    sources=[os.path.relpath(source, ROOT) for source in SOURCES],
    depends=[os.path.relpath(header, ROOT) for header in [HEADER, CALIBRATE, *CORE_HEADERS]],
    py_limited_api=True,
)
