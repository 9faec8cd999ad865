# SPDX-License-Identifier: Apache-2.0
"""The real opensm on simulated fabrics: its tables, read and followed."""

import json
from collections.abc import Iterator
from pathlib import Path

import ibsim
import pytest
from click.testing import CliRunner
from fattree import Net, rails, three_level, two_level

from vgpu.cli.fabric import fabric as command
from vgpu.pool.fabric.check import check, check_routes
from vgpu.pool.fabric.discovery import read_discovery
from vgpu.pool.fabric.graph import Fabric
from vgpu.pool.fabric.routes import Routes, Usage
from vgpu.pool.fabric.tables import read_tables

pytestmark = pytest.mark.skipif(bool(ibsim.missing()), reason=ibsim.missing())


def load(discovery: Path, tables: Path) -> tuple[Fabric, Routes, Usage]:
    fabric = Fabric(read_discovery(discovery.read_text().splitlines(), str(discovery)))
    routes = Routes(fabric, read_tables(tables.read_text().splitlines(), str(tables)))
    return fabric, routes, routes.usage()


def loads(fabric: Fabric, usage: Usage) -> list[int]:
    ends = [(it.low, it.low_port) for it in fabric.links]
    ends += [(it.high, it.high_port) for it in fabric.links]
    return [usage.load.get(end, 0) for end in ends]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ibsim.Sim]:
    folder = tmp_path_factory.mktemp("small")
    with ibsim.simulated(two_level(4).text(lids=False), folder, "spine1") as sim:
        yield sim


@pytest.mark.parametrize("engine", ["minhop", "updn", "ftree", "dfsssp"])
def test_two_levels(small: ibsim.Sim, engine: str) -> None:
    """72 hosts: every engine spreads the paths evenly."""
    fabric, routes, usage = load(*small.route(engine))
    assert [len(row) for row in fabric.by_level] == [4, 18]
    assert len(fabric.hosts) == 72
    assert (usage.pairs, usage.unreached, usage.credit_loop) == (72 * 71, 0, [])
    assert {str(link.rate) for link in fabric.links} == {"4xEDR"}
    assert set(loads(fabric, usage)) == {54}
    assert check(fabric) + check_routes(fabric, routes, usage) == []


@pytest.fixture(scope="module")
def tall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ibsim.Sim]:
    folder = tmp_path_factory.mktemp("tall")
    with ibsim.simulated(three_level(8).text(lids=False), folder, "core1") as sim:
        yield sim


def test_three_levels_ftree(tall: ibsim.Sim) -> None:
    fabric, routes, usage = load(*tall.route("ftree"))
    assert [len(row) for row in fabric.by_level] == [32, 32, 16]
    assert "ftree" in usage.follows
    assert usage.shift == 1
    assert max(loads(fabric, usage)) < 1.2 * min(loads(fabric, usage))
    assert check(fabric) + check_routes(fabric, routes, usage) == []


def test_three_levels_minhop(tall: ibsim.Sim) -> None:
    """minhop reaches everybody but leaves three of four cables to the cores idle."""
    fabric, routes, usage = load(*tall.route("minhop"))
    assert "minhop" in usage.follows
    assert "ftree" not in usage.follows
    assert usage.unreached == 0
    assert {it.kind for it in check_routes(fabric, routes, usage)} == {"unbalanced"}


def test_rails(tmp_path: Path) -> None:
    with ibsim.simulated(rails(2, 8, 4, 4).text(lids=False), tmp_path, "spine1") as sim:
        fabric, routes, usage = load(*sim.route("updn"))
    assert [len(unit.leaves) for unit in fabric.units] == [4, 4]
    assert usage.unreached == 0
    assert check_routes(fabric, routes, usage) == []


def test_spine_taken_away(small: ibsim.Sim) -> None:
    """opensm routes around it; tables of before and the fabric of after do not fit together."""
    path = small.folder / "later"
    spine = f"S-{two_level(4).guid('spine3'):016x}"
    with small.manager("ftree") as folder:
        tables = folder / "opensm-lfts.dump"
        ibsim.wait_for(lambda: tables.exists() and tables.read_text().count("Unicast") == 22, 60)
        old = tables.read_text()
        small.tell(f'Unlink "{spine}"')
        try:
            ibsim.wait_for(lambda: tables.read_text().count("Unicast") == 21, 60)
            ibsim.wait_for(lambda: '"spine3"' not in small.discover(path).read_text(), 60)
            fabric, routes, usage = load(path, tables)
            assert len(fabric.by_level[1]) == 17
            assert usage.unreached == 0
            assert check_routes(fabric, routes, usage) == []
            stale = Routes(fabric, read_tables(old.splitlines(), "old")).usage()
            assert stale.unreached == 4 * 54
            assert stale.broken[0].why.startswith("it ends at leaf")
        finally:
            small.tell(f'ReLink "{spine}"')


def test_saved_file_is_replayed(small: ibsim.Sim, tmp_path: Path) -> None:
    """What ibnetdiscover printed is a fabric for ibsim again, with the same rates and cables."""
    saved = small.route("updn")[0].read_text()
    with ibsim.simulated(saved, tmp_path, "spine1") as again:
        second, tables = again.route("updn")
        found = CliRunner().invoke(
            command, ["show", str(second), "--tables", str(tables), "--json"]
        )
    links = json.loads(found.output)["links"]
    assert len(links) == 72
    first = Fabric(read_discovery(saved.splitlines(), "saved"))
    assert {(it["low"], it["high"], it["rate"]) for it in links} == {
        (first.name(it.low), first.name(it.high), str(it.rate)) for it in first.links
    }


def route_once(net: Net, engine: str, folder: Path, timeout: float) -> None:
    with ibsim.simulated(net.text(lids=False), folder, next(iter(net.switch_ports))) as sim:
        fabric, routes, usage = load(*sim.route(engine, timeout))
    assert len(fabric.hosts) == len(net.cas)
    assert usage.unreached == 0
    assert check(fabric) == []
    if engine == "ftree":
        assert "ftree" in usage.follows
        assert check_routes(fabric, routes, usage) == []


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["minhop", "updn", "ftree"])
@pytest.mark.parametrize("hosts", [648, 1024])
def test_large(engine: str, hosts: int, tmp_path: Path) -> None:
    net = two_level(36) if hosts == 648 else three_level(16)
    route_once(net, engine, tmp_path, 300)


@pytest.mark.slow
def test_very_large(tmp_path: Path) -> None:
    route_once(three_level(24), "ftree", tmp_path, 900)
