# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests that run in a guest. docs/testing.md says how to use them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from guest import boot as guest_boot
from guest.boot import Guest
from tenants import Tenants
from vmtest import VMError

HERE = Path(__file__).parent
REPORT = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "guest(fresh=False, **options): which guest the test wants; see docs/testing.md"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.vm)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[Any]:
    report = yield
    if report.when == "call":
        item.stash[REPORT] = report.failed
    return report


def _why_not() -> str:
    """Why no guest can run here, and what to do."""
    missing = [name for name in ("qemu-system-x86_64", "mksquashfs") if not shutil.which(name)]
    return f"needs {', '.join(missing)} (run scripts/setup)" if missing else ""


def _boot(options: dict[str, Any]) -> Guest:
    reason = _why_not()
    if reason and not os.environ.get("CI"):
        pytest.skip(reason)
    try:
        return guest_boot.boot(guest_boot.Options(**options))
    except VMError as error:
        pytest.fail(f"{error}\n{error.hint}".strip(), pytrace=False)


class _Keeper:
    """One guest for a module, made again when a test left it unfit."""

    def __init__(self) -> None:
        self.guest: Guest | None = None
        self.options: dict[str, Any] | None = None

    def get(self, options: dict[str, Any], fresh: bool) -> Guest:
        if self.guest is None or fresh or options != self.options:
            self.drop()
            self.guest, self.options = _boot(options), options
        return self.guest

    def drop(self) -> None:
        if self.guest is not None:
            self.guest.close()
        self.guest = None


@pytest.fixture(scope="module")
def _keeper() -> Iterator[_Keeper]:
    keeper = _Keeper()
    yield keeper
    keeper.drop()


def _judge(guest: Guest) -> None:
    lines = guest.complaints()
    if lines:
        guest.broken = "the kernel complained"
        pytest.fail("the guest's kernel complained:\n" + "\n".join(lines), pytrace=False)


@pytest.fixture
def vm(request: pytest.FixtureRequest, _keeper: _Keeper) -> Iterator[Guest]:
    """A guest with nvsim and vgpu loaded, shared by the tests of a module while it is well."""
    options: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers("guest"))):
        options.update(marker.kwargs)
    fresh = bool(options.pop("fresh", False))
    guest = _keeper.get(options, fresh)
    try:
        yield guest
        _judge(guest)
    finally:
        if guest.broken or fresh or request.node.stash.get(REPORT, True):
            _keeper.drop()


@pytest.fixture
def tenants(vm: Guest) -> Iterator[Tenants]:
    """Makes tenants and looks at them; none is left when the test ends well."""
    made = Tenants(vm)
    yield made
    made.remove_all()


@pytest.fixture
def boot() -> Iterator[Callable[..., Guest]]:
    """Boots guests of its own: boot(gpus=2, vram="16G,80G"); they end with the test."""
    guests: list[Guest] = []

    def make(**options: Any) -> Guest:
        guests.append(_boot(options))
        return guests[-1]

    yield make
    try:
        for guest in guests:
            _judge(guest)
    finally:
        for guest in guests:
            guest.close()
