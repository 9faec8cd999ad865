# SPDX-License-Identifier: Apache-2.0
"""Start a guest, run commands in it, judge what happened.

A guest starts from a snapshot: its memory is a file that every guest maps privately, so that a
start costs the pages that are touched. The snapshot is made once from a plain boot, after the
caller's warm-up commands, and before the 9p share is mounted (a mounted share cannot be saved).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import cache, kvm
from .errors import CommandTimeout, KernelComplaint, LostVM, VMError
from .image import initramfs
from .kernel import Kernel, module_closure

BOOT_TIMEOUT = 180.0
RESTORE_TIMEOUT = 60.0
DEFAULT_TIMEOUT = 600.0

BOOT_MODULES = [
    "virtio_pci", "virtio_blk", "virtio_console", "virtio_rng", "squashfs", "overlay",
    "9pnet_virtio", "9p",
]  # fmt: skip

COMMAND_LINE = (
    "console=ttyS0 loglevel=5 panic=-1 oops=panic mitigations=off nokaslr "
    "random.trust_cpu=on cgroup_no_v1=all log_buf_len=1M printk.devkmsg=on "
    "systemd.unified_cgroup_hierarchy=1"
)

# What a healthy kernel never logs.
COMPLAINT = re.compile(
    r"BUG[: ]|WARNING: |KASAN|KCSAN|UBSAN|Oops|kernel NULL pointer|general protection fault"
    r"|possible circular locking|possible recursive locking|inconsistent lock state"
    r"|suspicious RCU usage|INFO: task .* blocked|rcu.*(self-)?detected (expedited )?stall"
    r"|unreferenced object|refcount_t: |Bad page state|list_(add|del) corruption"
)

# Emulating AVX and fast string instructions costs more than they save; SMAP and SMEP catch a module
# that touches user memory without asking.
TCG_CPU = "Nehalem,+smap,+smep,+fsgsbase"

SNAPSHOT_FORMAT = 1
KEPT_SNAPSHOTS = 16

HEADER = struct.Struct("<III")
MAX_PAYLOAD = 65536

ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
}


@dataclass(frozen=True)
class Machine:
    """Everything that a snapshot depends on."""

    kernel: Kernel
    layers: tuple[Path, ...]
    """Squashfs images, later ones over earlier ones."""
    memory: int = 2 << 30
    cpus: int = 2
    icount: bool = False
    """Guest time is counted in instructions: sleeping is free, the host's load changes nothing."""
    warm_up: tuple[tuple[str, ...], ...] = ()
    """Commands that are run before the snapshot is taken."""
    command_line: str = ""

    @property
    def accelerator(self) -> str:
        return "kvm" if not self.icount and kvm.works(self.kernel.vmlinux) else "tcg"

    def arguments(self) -> list[str]:
        """QEMU's arguments, but for those that differ from run to run."""
        argv = ["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"]
        argv += ["-machine", f"q35,accel={self.accelerator},memory-backend=ram"]
        argv += ["-cpu", kvm.CPU if self.accelerator == "kvm" else TCG_CPU]
        argv += ["-m", f"{self.memory >> 20}M", "-smp", "1" if self.icount else str(self.cpus)]
        if self.icount:
            argv += ["-icount", "shift=3,sleep=off"]
        argv += ["-kernel", str(self.kernel.vmlinux), "-initrd", str(self.initramfs())]
        command_line = f"{COMMAND_LINE} {self.command_line} VMTEST_LAYERS={len(self.layers)}"
        argv += ["-append", command_line]
        for index, layer in enumerate(self.layers):
            argv += ["-drive", f"if=none,id=layer{index},file={layer},format=raw,readonly=on"]
            argv += ["-device", f"virtio-blk-pci,drive=layer{index}"]
        argv += ["-device", "virtio-serial-pci", "-device", "virtio-rng-pci"]
        argv += ["-device", "virtserialport,chardev=agent,name=vmtest.agent"]
        argv += ["-device", "virtio-9p-pci,fsdev=tree,mount_tag=tree"]
        return argv

    def initramfs(self) -> Path:
        modules = module_closure(self.kernel, BOOT_MODULES)
        here = Path(__file__)
        name = cache.key(
            self.kernel.vmlinux.parent.name, [path.name for path in modules],
            here.with_name("agent.c"), here.with_name("image.py"),
        )  # fmt: skip
        path = cache.entry("initramfs", name, lambda tmp: initramfs(tmp / "initramfs", modules))
        return path / "initramfs"

    def prepared(self) -> bool:
        """Whether there is a snapshot to start from."""
        return (cache.root() / "snapshot" / self.key()).exists()

    def key(self) -> str:
        return cache.key(self.arguments(), self.warm_up, _qemu_version(), SNAPSHOT_FORMAT)


_VERSION: list[str] = []


def _qemu_version() -> str:
    if not _VERSION:
        try:
            done = subprocess.run(
                ["qemu-system-x86_64", "--version"], check=True, capture_output=True, text=True
            )
        except FileNotFoundError:
            raise VMError("qemu-system-x86_64 is not installed", hint="run scripts/setup") from None
        _VERSION.append(done.stdout)
    return _VERSION[0]


@dataclass
class Result:
    """Like subprocess.CompletedProcess, with text."""

    args: list[str]
    returncode: int
    stdout: str
    stderr: str

    def check(self) -> Result:
        if self.returncode:
            raise AssertionError(
                f"{shlex.join(self.args)}: exit code {self.returncode}\n"
                f"stdout: {self.stdout}\nstderr: {self.stderr}"
            )
        return self


@dataclass
class Process:
    """A command that runs in the guest."""

    vm: VM
    id: int
    args: list[str]
    on_output: Callable[[str, bytes], None] | None = None
    out: bytearray = field(default_factory=bytearray)
    err: bytearray = field(default_factory=bytearray)
    returncode: int | None = None
    failure: str | None = None

    @property
    def stdout(self) -> str:
        """What it has written so far."""
        with self.vm.changed:
            return self.out.decode(errors="replace")

    @property
    def stderr(self) -> str:
        with self.vm.changed:
            return self.err.decode(errors="replace")

    def wait(self, timeout: float | None = DEFAULT_TIMEOUT) -> Result:
        """Waits for the end. After `timeout` the whole process group is killed."""
        if not self.vm.wait_for(lambda: self.returncode is not None, timeout):
            self.kill_group(signal.SIGKILL)
            if not self.vm.wait_for(lambda: self.returncode is not None, 30):
                raise self.vm.lost(f"the guest stopped answering during {shlex.join(self.args)}")
            raise CommandTimeout(
                f"{shlex.join(self.args)} was killed after {timeout} s\n"
                f"stdout: {self.stdout[-4000:]}\nstderr: {self.stderr[-4000:]}"
            )
        assert self.returncode is not None
        if self.failure is not None:
            raise VMError(f"{shlex.join(self.args)}: {self.failure}")
        return Result(self.args, self.returncode, self.stdout, self.stderr)

    def wait_output(self, pattern: str, timeout: float = 60) -> re.Match[str]:
        """Waits until standard output matches `pattern`; no match before the end is an error."""
        regex = re.compile(pattern, re.MULTILINE)

        def matches() -> re.Match[str] | None:
            return regex.search(self.out.decode(errors="replace"))

        self.vm.wait_for(lambda: matches() or self.returncode is not None, timeout)
        match = matches()
        if match is None:
            raise AssertionError(
                f"{shlex.join(self.args)}: no {pattern!r} in its output\n"
                f"stdout: {self.stdout[-4000:]}\nstderr: {self.stderr[-4000:]}"
            )
        return match

    def poll(self) -> int | None:
        return self.returncode

    def kill(self, number: int = signal.SIGKILL) -> None:
        self.vm.send("K", self.id, str(int(number)).encode())

    def kill_group(self, number: int = signal.SIGKILL) -> None:
        self.vm.send("K", self.id, f"-{int(number)}".encode())

    def write(self, data: bytes) -> None:
        for at in range(0, len(data), MAX_PAYLOAD):
            self.vm.send("I", self.id, data[at : at + MAX_PAYLOAD])

    def close_stdin(self) -> None:
        self.vm.send("I", self.id, b"")

    def resize(self, rows: int, columns: int) -> None:
        self.vm.send("W", self.id, f"{rows} {columns}".encode())


class VM:
    """A running guest. Use as a context manager, or call :meth:`close`."""

    def __init__(self, machine: Machine, share: Path, *, snapshot: bool = True) -> None:
        self.machine = machine
        self.share = share
        self.changed = threading.Condition()
        self.kernel_log: list[str] = []
        self.broken = ""
        """Why this guest must not be used any more; empty while it is well."""
        self._judged = 0
        self._jobs: dict[int, Process] = {}
        self._next_job = 1
        self._ready = False
        self.home = Path("/")
        """Where commands start; the share, once it is mounted."""
        self._ended = False
        self._send_lock = threading.Lock()
        self._dir = Path(tempfile.mkdtemp(prefix="vmtest-"))
        self._qemu: subprocess.Popen[bytes] | None = None
        try:
            self._start_best(snapshot)
        except BaseException:
            self.close()
            raise

    # -- starting ----------------------------------------------------------------------------

    def _start_best(self, snapshot: bool) -> None:
        saved = self._snapshot() if snapshot else None
        if saved is not None:
            try:
                self._start(memory=saved / "memory", incoming=saved / "state")
                self._set_clock()
                if self.run(["true"], timeout=RESTORE_TIMEOUT).returncode == 0:
                    return
            except VMError as error:
                cache.say(f"the snapshot is unusable ({error}); booting")
            self._stop()
            shutil.rmtree(saved, ignore_errors=True)
        self._start(memory=None, incoming=None)
        self._await_boot()
        self._set_clock()

    def _snapshot(self) -> Path | None:
        name = self.machine.key()
        try:
            path = cache.entry(
                "snapshot", name, self._make_snapshot, "booting once to make a snapshot"
            )
            os.utime(path)
            cache.prune("snapshot", KEPT_SNAPSHOTS)
            return path
        except (VMError, AssertionError, OSError) as error:
            cache.say(f"no snapshot ({error}); booting")
            self._stop()
            return None

    def _make_snapshot(self, directory: Path) -> None:
        self._start(memory=directory / "memory", incoming=None)
        self._await_boot()
        for command in self.machine.warm_up:
            self.run(list(command), timeout=BOOT_TIMEOUT).check()
        self.check_log()
        # The pages are in the file already: only the state of the devices is written.
        self._qmp("migrate", uri=f"exec:cat > {shlex.quote(str(directory / 'state'))}")
        while True:
            state = self._qmp("query-migrate")["return"].get("status")
            if state == "completed":
                break
            if state in ("failed", "cancelled"):
                raise VMError("QEMU could not save the guest")
            time.sleep(0.05)
        self._stop()

    def _arguments(self, memory: Path | None, incoming: Path | None) -> list[str]:
        size = self.machine.memory
        backend = f"memory-backend-ram,id=ram,size={size}"
        if memory is not None:
            # Shared: what the guest writes is the snapshot. Private: what it writes is its own.
            share = "off" if incoming else "on"
            backend = f"memory-backend-file,id=ram,size={size},mem-path={memory},share={share}"
        argv = ["qemu-system-x86_64", "-object", backend]
        argv += ["-fsdev", f"local,id=tree,path={self.share},security_model=none,multidevs=remap"]
        argv += self.machine.arguments()
        argv += ["-serial", f"file:{self._console_path}"]
        if incoming:
            argv += ["-incoming", "defer"]
        return argv

    @property
    def _console_path(self) -> Path:
        return self._dir / "console"

    def _start(self, memory: Path | None, incoming: Path | None) -> None:
        ours, theirs = socket.socketpair()
        qmp_ours, qmp_theirs = socket.socketpair()
        argv = self._arguments(memory, incoming)
        argv += ["-chardev", f"socket,id=agent,fd={theirs.fileno()}"]
        argv += ["-chardev", f"socket,id=qmp,fd={qmp_theirs.fileno()}"]
        argv += ["-mon", "chardev=qmp,mode=control"]
        self._ready = self._ended = False
        self._agent = ours
        with open(self._dir / "qemu.log", "wb") as log:
            # A guest never outlives the process that started it.
            self._qemu = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *argv],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=(theirs.fileno(), qmp_theirs.fileno()), start_new_session=True,
            )  # fmt: skip
        theirs.close()
        qmp_theirs.close()
        self._qmp_socket = qmp_ours
        qmp_ours.settimeout(RESTORE_TIMEOUT)
        self._qmp_file = qmp_ours.makefile("rb")
        self._reader = threading.Thread(target=self._read_frames, args=(ours,), daemon=True)
        self._reader.start()
        try:
            self._qmp_file.readline()
            self._qmp("qmp_capabilities")
            if memory is not None:
                ignore_shared = {"capability": "x-ignore-shared", "state": True}
                self._qmp("migrate-set-capabilities", capabilities=[ignore_shared])
            if incoming is not None:
                self._qmp("migrate-incoming", uri=f"exec:cat {shlex.quote(str(incoming))}")
                self._ready = True
        except (OSError, ValueError):
            log_text = (self._dir / "qemu.log").read_text(errors="replace").strip()
            raise LostVM("QEMU did not start", log_text) from None

    def _qmp(self, command: str, **arguments: Any) -> dict[str, Any]:
        request = {"execute": command, "arguments": arguments}
        self._qmp_socket.sendall(json.dumps(request).encode() + b"\n")
        while True:
            line = self._qmp_file.readline()
            if not line:
                raise OSError("QMP closed")
            answer: dict[str, Any] = json.loads(line)
            if "error" in answer:
                raise VMError(f"QEMU: {command}: {answer['error'].get('desc')}")
            if "return" in answer:
                return answer

    def _await_boot(self) -> None:
        if not self.wait_for(lambda: self._ready, BOOT_TIMEOUT):
            raise self.lost("the guest did not boot")

    def _set_clock(self) -> None:
        """A restored guest believes that it is the time of the snapshot."""
        self.send("T", 0, f"{time.time():.9f}".encode())

    # -- frames ------------------------------------------------------------------------------

    def send(self, kind: str, job: int, payload: bytes) -> None:
        data = HEADER.pack(len(payload), job, ord(kind)) + payload
        try:
            with self._send_lock:
                self._agent.sendall(data)
        except OSError:
            raise self.lost("the guest is gone") from None

    def _read_frames(self, agent: socket.socket) -> None:
        stream = agent.makefile("rb")
        try:
            while True:
                header = stream.read(HEADER.size)
                if len(header) < HEADER.size:
                    break
                length, job, kind = HEADER.unpack(header)
                payload = stream.read(length)
                with self.changed:
                    self._handle(chr(kind), job, payload)
                    self.changed.notify_all()
        except OSError:
            pass
        with self.changed:
            if agent is self._agent:
                self._ended = True
            self.changed.notify_all()

    def _handle(self, kind: str, job: int, payload: bytes) -> None:
        if kind == "H":
            self._ready = True
        elif kind == "D":
            text = payload.decode(errors="replace").split("\n", 1)[0]
            fields, _, message = text.partition(";")
            stamp = int(fields.split(",")[2])
            self.kernel_log.append(f"[{stamp / 1e6:12.6f}] {message}")
        process = self._jobs.get(job)
        if process is None:
            return
        if kind in "OE":
            (process.out if kind == "O" else process.err).extend(payload)
            if process.on_output:
                process.on_output(kind, payload)
        elif kind == "X":
            process.returncode = os.waitstatus_to_exitcode(int.from_bytes(payload, "little"))
            del self._jobs[job]
        elif kind == "F":
            process.failure = payload.decode(errors="replace")
            process.returncode = 127
            del self._jobs[job]

    def wait_for(self, condition: Callable[[], object], timeout: float | None) -> bool:
        """False when `timeout` is over; a guest that ends in the meantime is lost."""
        with self.changed:
            self.changed.wait_for(lambda: condition() or self._ended, timeout)
            if condition():
                return True
        if self._ended:
            raise self.lost("the guest died")
        return False

    def lost(self, message: str) -> LostVM:
        self.broken = self.broken or message
        if self._qemu is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._qemu.wait(timeout=0.5)
        return LostVM(message, self.console_tail())

    def console_tail(self, lines: int = 60) -> str:
        text = ""
        for path in (self._dir / "qemu.log", self._console_path):
            with contextlib.suppress(OSError):
                text += path.read_text(errors="replace")
        return "\n".join(text.replace("\r", "").splitlines()[-lines:])

    # -- commands ----------------------------------------------------------------------------

    def popen(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bool = False,
        tty: bool = False,
        on_output: Callable[[str, bytes], None] | None = None,
    ) -> Process:
        """Starts a command; a string is run by sh."""
        args = ["sh", "-c", command] if isinstance(command, str) else [str(c) for c in command]
        environment = {**ENVIRONMENT, **(env or {})}
        words = ["x" + "i" * stdin + "t" * tty, str(cwd or self.home), str(len(args)), *args]
        words += [f"{name}={value}" for name, value in environment.items()]
        with self.changed:
            process = Process(self, self._next_job, args, on_output)
            self._next_job += 1
            self._jobs[process.id] = process
        self.send("R", process.id, b"".join(word.encode() + b"\0" for word in words))
        return process

    def run(
        self,
        command: str | Sequence[str],
        *,
        check: bool = False,
        timeout: float | None = DEFAULT_TIMEOUT,
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        input: bytes | str | None = None,
        on_output: Callable[[str, bytes], None] | None = None,
    ) -> Result:
        process = self.popen(
            command, cwd=cwd, env=env, stdin=input is not None, on_output=on_output
        )
        if input is not None:
            process.write(input.encode() if isinstance(input, str) else input)
            process.close_stdin()
        result = process.wait(timeout)
        return result.check() if check else result

    def put(self, path: str | Path, data: bytes | str, mode: int = 0o644) -> None:
        quoted = shlex.quote(str(path))
        self.run(f"cat > {quoted} && chmod {mode:o} {quoted}", input=data, check=True)

    def get(self, path: str | Path) -> bytes:
        process = self.popen(["cat", str(path)])
        process.wait().check()
        return bytes(process.out)

    def mount_share(self, path: Path | None = None) -> None:
        """Shows the shared host directory at its own absolute path."""
        target = path or self.share
        options = "trans=virtio,version=9p2000.L,msize=512000,cache=loose"
        script = 'mkdir -p "$1" && mount -t 9p -o "$2" tree "$1"'
        self.run(["sh", "-c", script, "sh", str(target), options], check=True)
        self.home = target

    # -- judging -----------------------------------------------------------------------------

    def complaints(self) -> list[str]:
        """Log lines since the last look that no healthy kernel writes, and what follows them."""
        with self.changed:
            lines = self.kernel_log[self._judged :]
            self._judged = len(self.kernel_log)
        for index, line in enumerate(lines):
            if COMPLAINT.search(line):
                return lines[index : index + 40]
        return []

    def check_log(self) -> None:
        lines = self.complaints()
        if lines:
            self.broken = self.broken or "the kernel complained"
            raise KernelComplaint("the kernel complained:\n" + "\n".join(lines))

    # -- ending ------------------------------------------------------------------------------

    def _stop(self) -> None:
        if self._qemu is None:
            return
        self._qemu.kill()
        self._qemu.wait()
        self._qemu = None
        self._agent.close()
        self._qmp_file.close()
        self._qmp_socket.close()
        self._reader.join(timeout=5)
        self.home = Path("/")
        with self.changed:
            self._jobs.clear()
            self.kernel_log.clear()
            self._judged = 0
            self.broken = ""

    def close(self) -> None:
        self._stop()
        shutil.rmtree(self._dir, ignore_errors=True)

    def __enter__(self) -> VM:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def interact(process: Process) -> int:
    """Connects this terminal with a command that has a terminal in the guest."""
    import fcntl
    import termios
    import tty

    stdin = sys.stdin.fileno()
    saved = termios.tcgetattr(stdin)

    def resize(*_: object) -> None:
        packed = fcntl.ioctl(stdin, termios.TIOCGWINSZ, b"\0" * 8)
        rows, columns = struct.unpack("HHHH", packed)[:2]
        process.resize(rows, columns)

    def pump() -> None:
        while True:
            data = os.read(stdin, 4096)
            if not data:
                return
            process.write(data)

    resize()
    signal.signal(signal.SIGWINCH, resize)
    threading.Thread(target=pump, daemon=True).start()
    try:
        tty.setraw(stdin)
        return process.wait(timeout=None).returncode
    finally:
        termios.tcsetattr(stdin, termios.TCSADRAIN, saved)
