# SPDX-License-Identifier: Apache-2.0
"""What a tenant's container gets, as edits of its config.json.

The nodes are FIFOs to the kernel and come as bind mounts: no device-cgroup rule and no entry of
linux.devices, with which a runtime would make raw nodes. Whatever else of the GPU the config
carries is taken out, so that a config can never give more than the tenant's own nodes.
"""

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Config = dict[str, Any]

# NV_MAJOR_DEVICE_NUMBER, 535.309.01 nv-linux.h.
NVIDIA_MAJOR = 195

_NODE_PREFIXES = ("/dev/nvidia", "/dev/dri")

# Other tenants' GPUs by number and name. A runtime refuses binds below /proc, so they are masked.
MASKED_PATHS = (
    "/proc/driver/nvidia/capabilities",
    "/proc/driver/nvidia/gpus",
    "/proc/driver/nvidia/registry",
)


# With this setting the driver's libraries leave the nodes as they are. They find nothing to mend in
# ours anyhow: it spares them the try. 535.288.01 nv-reg.h, nvidia-modprobe-utils.c.
PARAMS = "/proc/driver/nvidia/params"


def quiet_params(text: str) -> str:
    return text.replace("ModifyDeviceFiles: 1", "ModifyDeviceFiles: 0")


def with_params(config: Config, source: str, root: str, mount: str) -> Config:
    """Puts a file over PARAMS. A runtime refuses binds below /proc, so mount(8) does it as a hook,
    when the container's mounts are made and its root is not yet the process's."""
    result = copy.deepcopy(config)
    result.setdefault("hooks", {}).setdefault("createContainer", []).append(
        {"path": mount, "args": ["mount", "-o", "bind,ro", source, f"{root}{PARAMS}"]}
    )
    return result


@dataclass(frozen=True)
class Edits:
    """Bind mounts (source, destination) and paths that the container shall not read."""

    binds: tuple[tuple[str, str], ...]
    masked_paths: tuple[str, ...]


def edits(directory: str, names: Iterable[str]) -> Edits:
    """For the nodes of one tenant, as vgpu.nodes lists them."""
    return Edits(
        binds=tuple((f"{directory}/{name}", f"/dev/{name}") for name in sorted(names)),
        masked_paths=MASKED_PATHS,
    )


def apply(config: Config, wanted: Edits) -> Config:
    """A new config; the one given stays as it is."""
    result = without_gpus(config)
    result.setdefault("mounts", []).extend(
        {
            "destination": destination,
            "type": "bind",
            "source": source,
            "options": ["bind", "rw", "nosuid", "noexec", "private"],
        }
        for source, destination in wanted.binds
    )
    linux = result.setdefault("linux", {})
    masked = linux.setdefault("maskedPaths", [])
    masked.extend(path for path in wanted.masked_paths if path not in masked)
    return result


def without_gpus(config: Config) -> Config:
    """Takes out every node of a GPU and every rule that would open one."""
    result = copy.deepcopy(config)
    if "mounts" in result:
        result["mounts"] = [
            mount for mount in result["mounts"] if not _is_node(mount["destination"])
        ]
    linux = result.get("linux", {})
    # UVM's number is dynamic: it is told by the node that carries it.
    majors = {NVIDIA_MAJOR}
    kept = []
    for device in linux.get("devices", []):
        if _is_node(device["path"]) or device.get("major") == NVIDIA_MAJOR:
            majors.add(device.get("major"))
        else:
            kept.append(device)
    if "devices" in linux:
        linux["devices"] = kept
    resources = linux.get("resources", {})
    if "devices" in resources:
        resources["devices"] = [
            rule
            for rule in resources["devices"]
            if not (rule["allow"] and rule.get("major") in majors)
        ]
    return result


def _is_node(path: str) -> bool:
    return path.startswith(_NODE_PREFIXES)
