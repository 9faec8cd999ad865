#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Passes open nodes to another process, and uses nodes that were passed.

travel.py give SOCKET DIRECTORY	opens nvidiactl and nvidia0 of DIRECTORY, waits for a taker, passes
                                them, closes its own and holds nothing
travel.py take SOCKET BYTES	takes them, allocates BYTES through them, prints what it got, waits

SOCKET is a name in the abstract namespace, which containers share that share the network.
"""

from __future__ import annotations

import json
import os
import socket
import sys

from nvrm import Client, Device, Node


def passed(fd: int) -> Node:
    node = Node.__new__(Node)
    node.fd = fd
    return node


def give(name: str, directory: str) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0{name}")
        listener.listen()
        print("ready", flush=True)
        taker, _ = listener.accept()
        names = ("nvidiactl", "nvidia0")
        nodes = [os.open(f"{directory}/{it}", os.O_RDWR) for it in names]
        socket.send_fds(taker, [b"nodes"], nodes)
        for node in nodes:
            os.close(node)


def take(name: str, size: int) -> None:
    with socket.socket(socket.AF_UNIX) as giver:
        giver.connect(f"\0{name}")
        _, (ctl, gpu), _, _ = socket.recv_fds(giver, 16, 2)
    client = Client(passed(ctl))
    device = Device(client, node=passed(gpu))
    _, status, got = device.memory(size, check=False)
    total, free = device.fb_info(0x08, 0x16)
    print(json.dumps({"status": status, "got": got, "total": total << 10, "free": free << 10}))
    sys.stdout.flush()
    sys.stdin.read()


if sys.argv[1] == "give":
    give(*sys.argv[2:])
else:
    take(sys.argv[2], int(sys.argv[3]))
