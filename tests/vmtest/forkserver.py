# SPDX-License-Identifier: Apache-2.0
"""Runs in the guest: imports once, then forks for each request of pyfork.c.

usage: forkserver.py --late MODULE... -- MODULE...
Modules after -- are imported now; late ones are imported when the first request comes, since what
they are in (the working tree) is not there yet when the snapshot is taken.
"""

import array
import contextlib
import gc
import importlib
import os
import selectors
import signal
import site
import socket
import sys
import types
from typing import NoReturn

SOCKET = "/run/pyfork"
MAX_REQUEST = 128 * 1024


class Job:
    def __init__(self, client: socket.socket, pid: int) -> None:
        self.client = client
        self.pid = pid


def receive(client: socket.socket) -> tuple[list[str], list[int]]:
    space = socket.CMSG_SPACE(3 * array.array("i").itemsize)
    data, ancillary, _, _ = client.recvmsg(MAX_REQUEST, space)
    files = array.array("i")
    for _level, _kind, content in ancillary:
        files.frombytes(content)
    return [os.fsdecode(word) for word in data.split(b"\0")[:-1]], list(files)


def look_for_packages() -> None:
    """Packages come with the tree, after this process has started."""
    for directory in site.getsitepackages():
        site.addsitedir(directory)


def become(words: list[str], files: list[int]) -> NoReturn:
    """In the child: be what python3 would have been."""
    for target, file in enumerate(files):
        os.dup2(file, target)
    os.closerange(3, 1 << 16)
    os.setsid()
    cwd, mask, count = words[0], int(words[1], 8), int(words[2])
    arguments, environment = words[3 : 3 + count], words[3 + count :]
    os.chdir(cwd)
    os.umask(mask)
    os.environ.clear()
    os.environ.update(item.split("=", 1) for item in environment if "=" in item)
    look_for_packages()
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    if arguments[0] == "-c":
        source, name = arguments[1], "<string>"
        sys.argv = ["-c", *arguments[2:]]
        sys.path.insert(0, "")
    else:
        name = arguments[0]
        with open(name, encoding="utf-8") as file:
            source = file.read()
        sys.argv = arguments
        sys.path.insert(0, os.path.dirname(os.path.realpath(name)))
        main.__dict__["__file__"] = name
    code = 0
    try:
        exec(compile(source, name, "exec"), main.__dict__)
    except SystemExit as exit:
        if exit.code is None or isinstance(exit.code, int):
            code = exit.code or 0
        else:
            print(exit.code, file=sys.stderr)
            code = 1
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    sys.exit(code)


def serve(late: list[str]) -> NoReturn:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(SOCKET)
    listener.bind(SOCKET)
    listener.listen()
    if os.fork():
        os._exit(0)
    os.setsid()
    null = os.open("/dev/null", os.O_RDWR)
    for target in range(3):
        os.dup2(null, target)
    os.close(null)

    wake, woken = socket.socketpair()
    wake.setblocking(False)
    woken.setblocking(False)
    signal.set_wakeup_fd(wake.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    selector.register(woken, selectors.EVENT_READ)
    jobs: dict[int, Job] = {}
    gc.freeze()
    while True:
        for key, _ in selector.select():
            if key.fileobj is listener:
                start(listener, selector, jobs, late)
            elif key.fileobj is woken:
                with contextlib.suppress(BlockingIOError):
                    woken.recv(4096)
                reap(selector, jobs)
            else:
                # Nothing is sent after the request: the client was killed, and so is its work.
                job = key.data
                os.kill(job.pid, signal.SIGKILL)
                selector.unregister(job.client)


def start(
    listener: socket.socket,
    selector: selectors.BaseSelector,
    jobs: dict[int, Job],
    late: list[str],
) -> None:
    client, _ = listener.accept()
    words, files = receive(client)
    if len(files) == 3:
        import_late(late)
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            become(words, files)
        client.send(pid.to_bytes(4, "little"))
        jobs[pid] = Job(client, pid)
        selector.register(client, selectors.EVENT_READ, jobs[pid])
    else:
        client.close()
    for file in files:
        os.close(file)


def import_late(late: list[str]) -> None:
    if not late:
        return
    look_for_packages()
    for name in list(late):
        # A broken module is the child's to report.
        with contextlib.suppress(BaseException):
            importlib.import_module(name)
            late.remove(name)
    gc.freeze()


def reap(selector: selectors.BaseSelector, jobs: dict[int, Job]) -> None:
    while jobs:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        job = jobs.pop(pid)
        with contextlib.suppress(KeyError, ValueError):
            selector.unregister(job.client)
        with contextlib.suppress(OSError):
            job.client.send(status.to_bytes(4, "little"))
        job.client.close()


def main() -> NoReturn:
    arguments = sys.argv[1:]
    split = arguments.index("--")
    for name in arguments[split + 1 :]:
        importlib.import_module(name)
    serve(arguments[1:split])


if __name__ == "__main__":
    main()
