# SPDX-License-Identifier: Apache-2.0
"""The only place where steps are ordered: what is done first, and what is undone when the next
step fails."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from vgpu import nodes
from vgpu.errors import UsageError, VgpuError
from vgpu.inventory import Inventory, find, load
from vgpu.model import Calibration, DriverState, Gpu, ModuleInfo, SliceRequest, SliceSpec, Tenant


class Control(Protocol):
    """The verbs of vgpu.device.ControlDevice."""

    def __enter__(self) -> "Control": ...
    def __exit__(self, *_: object) -> None: ...
    def info(self) -> ModuleInfo: ...
    def create(
        self, name: str, slices: Sequence[SliceSpec], *, overcommit: bool = False
    ) -> int: ...
    def remove(self, name: str) -> None: ...
    def join(self, name: str, cgroup_fd: int) -> None: ...
    def calibrate(self, uuid: str, driver: str, channel_bytes: int, context_bytes: int) -> None: ...


class Nodes(Protocol):
    """The functions of vgpu.nodes that have an effect."""

    def mount(self, name: str) -> str: ...
    def unmount(self, name: str) -> None: ...


class Calibrations(Protocol):
    """The functions of vgpu.calibration."""

    def measure(self, gpu: Gpu) -> Calibration: ...
    def kept(self, driver: str, model: str) -> Calibration | None: ...
    def keep(self, driver: str, model: str, calibration: Calibration) -> None: ...


def _calibrations() -> Calibrations:
    from vgpu import calibration

    return calibration


def _open_control() -> Control:
    from vgpu.device import ControlDevice

    return ControlDevice()


def _dump() -> list[Tenant]:
    from vgpu.netlink import tenants

    return tenants(os.uname().nodename)


@dataclass(frozen=True)
class RunOptions:
    """What 'vgpu run' may be told beside the command."""

    rootfs: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    uid: int = 0
    gid: int = 0


class Manager:
    """What it stands on is given to it, so that tests can give something else."""

    def __init__(
        self,
        control: Callable[[], Control] = _open_control,
        inventory: Callable[[], Inventory] = load,
        dump: Callable[[], list[Tenant]] = _dump,
        node_mounts: Nodes = nodes,
        calibrations: Callable[[], Calibrations] = _calibrations,
    ) -> None:
        self._control = control
        self._inventory = inventory
        self._dump = dump
        self._nodes = node_mounts
        self._calibrations = calibrations

    def create(
        self,
        name: str,
        requests: Sequence[SliceRequest],
        *,
        overcommit: bool = False,
        note: Callable[[VgpuError], None] = lambda error: None,
    ) -> list[SliceSpec]:
        """Makes a kept tenant and mounts its nodes. What is no reason to refuse it goes to note."""
        nodes.check_name(name)
        with self._control() as control:
            info = control.info()
            require_enforcement(info)
            inventory = self._inventory()
            specs = [SliceSpec(find(inventory, it.gpu), it.memory_max) for it in requests]
            _refuse_twice(specs)
            for spec in specs:
                try:
                    self._calibrate(control, spec.gpu, info.driver)
                except VgpuError as error:
                    note(error)
            control.create(name, specs, overcommit=overcommit)
            try:
                # The name was free: what is mounted there is of a tenant that is gone.
                self._nodes.unmount(name)
                self._nodes.mount(name)
            except BaseException:
                control.remove(name)
                raise
        return specs

    def calibrate(self, wanted: str) -> tuple[Gpu, Calibration]:
        """Measures a GPU, whether or not that was done before."""
        with self._control() as control:
            info = control.info()
            require_enforcement(info)
            gpu = find(self._inventory(), wanted)
            return gpu, self._calibrate(control, gpu, info.driver, again=True)

    def _calibrate(
        self, control: Control, gpu: Gpu, driver: str, *, again: bool = False
    ) -> Calibration:
        """The module forgets with each load; what was measured is kept on disk."""
        store = self._calibrations()
        found = None if again else store.kept(driver, gpu.name)
        if found is None:
            found = store.measure(gpu)
            store.keep(driver, gpu.name, found)
        control.calibrate(gpu.id.uuid, driver, found.channel_bytes, found.context_bytes)
        return found

    def remove(self, name: str) -> None:
        nodes.check_name(name)
        with self._control() as control:
            control.remove(name)
            self._nodes.unmount(name)

    def info(self) -> ModuleInfo:
        with self._control() as control:
            return control.info()

    def list(self) -> list[Tenant]:
        """All tenants; a dump of what is not enforced would look like one of what is, so the
        module has to answer first."""
        with self._control():
            return self._dump()

    def show(self, name: str) -> Tenant:
        nodes.check_name(name)
        for tenant in self.list():
            if tenant.name == name:
                return tenant
        raise VgpuError(f"{name}: no slice has this name", "see 'vgpu list'")

    def indexes(self) -> dict[str, int]:
        """Host index of each GPU by UUID; empty while no driver answers."""
        return {gpu.id.uuid: gpu.index for gpu in self._inventory().gpus()}

    def run(self, name: str, command: Sequence[str], options: RunOptions) -> int:
        """Runs a command in a container whose only GPU nodes are the tenant's; its exit code."""
        from vgpu import cgroup, container
        from vgpu.oci.config import Container, Process, config
        from vgpu.oci.edits import apply, edits

        nodes.check_name(name)
        container.find_runc()
        rootfs = _root_directory(options.rootfs)
        with self._control() as control:
            require_enforcement(control.info())
            directory = self._nodes.mount(name)
            wanted = edits(directory, os.listdir(directory))
            root_of_cgroups = cgroup.hierarchy()
            cgroup.sweep(root_of_cgroups)
            group = cgroup.Cgroup(root_of_cgroups, name)
            try:
                control.join(name, group.fd)
                cwd, visible = ("/", []) if rootfs else _working_directory(os.getcwd())
                process = Process(
                    args=command,
                    cwd=cwd,
                    env=_environment(options, inherit=rootfs is None),
                    uid=options.uid,
                    gid=options.gid,
                    terminal=sys.stdin.isatty() and sys.stdout.isatty(),
                )
                return container.run(
                    container.Plan(
                        id=group.id,
                        tenant=name,
                        rootfs=rootfs,
                        config=lambda root: apply(
                            config(
                                Container(
                                    hostname=name,
                                    root=root,
                                    root_readonly=rootfs is None,
                                    cgroup=group.path,
                                    process=process,
                                    visible=visible,
                                )
                            ),
                            wanted,
                        ),
                    )
                )
            finally:
                group.close()


def require_enforcement(info: ModuleInfo) -> None:
    """Fail closed: where nothing is enforced nothing is handed out."""
    if info.driver_state.enforceable:
        return
    if info.driver_state is DriverState.ABSENT:
        fact = info.reason or "no NVIDIA driver is loaded"
        raise VgpuError(f"nothing is enforced: {fact}", "load the NVIDIA driver")
    fact = info.reason or f"driver {info.driver} is not qualified"
    raise VgpuError(f"nothing is enforced: {fact}", "see 'vgpu check'")


def _refuse_twice(specs: Sequence[SliceSpec]) -> None:
    seen: set[str] = set()
    for spec in specs:
        if spec.gpu.id.uuid in seen:
            raise UsageError(f"GPU {spec.gpu.index} is asked for twice", "one slice of a GPU each")
        seen.add(spec.gpu.id.uuid)


def _root_directory(asked: str | None) -> str | None:
    if asked is None:
        return None
    path = os.path.realpath(asked)
    if not os.path.isdir(path):
        raise VgpuError(f"--rootfs {asked}: no such directory", "unpack an image there first")
    return path


def _working_directory(cwd: str) -> tuple[str, list[str]]:
    """Where the command starts, and what must be made visible for it."""
    from vgpu.oci.config import OWN_DIRECTORIES

    own = next((top for top in OWN_DIRECTORIES if f"{cwd}/".startswith(f"{top}/")), None)
    if own is None:
        return cwd, []
    if own != "/tmp" or cwd == own:
        return own if cwd == own else "/", []
    mount = cwd
    while not os.path.ismount(mount) and os.path.dirname(mount) != own:
        mount = os.path.dirname(mount)
    return cwd, [mount if os.path.ismount(mount) else cwd]


def _environment(options: RunOptions, *, inherit: bool) -> dict[str, str]:
    if inherit:
        base = dict(os.environ)
    else:
        base = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/",
            "TERM": os.environ.get("TERM", "dumb"),
        }
    return base | dict(options.env)
