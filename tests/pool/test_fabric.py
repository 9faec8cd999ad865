# SPDX-License-Identifier: Apache-2.0
"""Fabrics without opensm: reading, levels, findings, what is printed."""

import json
import xml.dom.minidom
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from fattree import CA_GUID, Net, rails, three_level, two_level

from vgpu.cli.fabric import fabric as command
from vgpu.errors import VgpuError
from vgpu.pool.fabric.check import check, check_routes
from vgpu.pool.fabric.discovery import read_discovery
from vgpu.pool.fabric.export import FORMATS, fold, tree, walk
from vgpu.pool.fabric.graph import Fabric
from vgpu.pool.fabric.routes import Routes, Usage
from vgpu.pool.fabric.tables import read_tables

NAMED = '"S-0000000000000001"\t# "s" enhanced port 0 lid 1 lmc 0'


def load(net: Net) -> Fabric:
    return Fabric(read_discovery(net.text().splitlines(), "net"))


def kinds(net: Net) -> list[tuple[str, str]]:
    return [(it.kind, it.where) for it in check(load(net))]


def tables(net: Net) -> dict[str, dict[int, int]]:
    """Down where the host is below, else up by the host's number: two levels only."""
    lid = {name: i + 1 for i, name in enumerate([*net.switch_ports, *net.cas])}
    leaf_of = {ca: net.cables[ca, 1][:2] for ca in net.cas}
    ups: dict[str, list[int]] = {}
    down: dict[tuple[str, str], int] = {}
    for (name, port), (far, _, _) in net.cables.items():
        if name.startswith("leaf") and far.startswith("spine"):
            ups.setdefault(name, []).append(port)
        if name.startswith("spine"):
            down[name, far] = port
    found: dict[str, dict[int, int]] = {name: {} for name in net.switch_ports}
    for number, ca in enumerate(net.cas):
        leaf, leaf_port = leaf_of[ca]
        for name in net.switch_ports:
            if name == leaf:
                found[name][lid[ca]] = leaf_port
            elif name.startswith("leaf"):
                found[name][lid[ca]] = sorted(ups[name])[number % len(ups[name])]
            else:
                found[name][lid[ca]] = down[name, leaf]
    return found


def dump(net: Net, found: dict[str, dict[int, int]]) -> str:
    lines = []
    for name, table in found.items():
        guid = f"0x{net.guid(name):016x}"
        lines.append(f"Unicast lids [0-99] of switch Lid 1 guid {guid} ('{name}'):")
        lines += [f"0x{lid:04x} {port:03d} # Channel Adapter" for lid, port in table.items()]
        lines.append(f"{len(table)} valid lids dumped")
    return "\n".join(lines)


def follow(net: Net, found: dict[str, dict[int, int]]) -> tuple[Fabric, Routes, Usage]:
    fabric = load(net)
    routes = Routes(fabric, read_tables(dump(net, found).splitlines(), "lfts"))
    return fabric, routes, routes.usage()


def test_levels_and_leaves() -> None:
    fabric = load(three_level(4))
    assert [len(row) for row in fabric.by_level] == [8, 8, 4]
    assert [unit.block for unit in fabric.units] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert len(fabric.hosts) == 16
    assert {fabric.oversubscription(leaf) for leaf in fabric.leaves} == {1.0}
    assert check(fabric) == []


def test_manager_on_a_spine_makes_it_no_leaf() -> None:
    net = two_level(4, radix=8)
    net.cable(net.ca("sm HCA-1"), 1, "spine1", 8)
    fabric = load(net)
    assert [len(row) for row in fabric.by_level] == [4, 4]
    assert "sm" in fabric.hosts
    assert check(fabric) == []


def test_rails_are_told_from_the_hosts_adapters() -> None:
    fabric = load(rails(2, 4, 4, 4))
    assert fabric.rail_optimised
    assert [[fabric.name(it) for it in unit.leaves] for unit in fabric.units] == [
        [f"su{unit}-leaf{rail}" for rail in (1, 2, 3, 4)] for unit in (1, 2)
    ]
    assert [(port.hca, port.rail) for port in fabric.hosts["n5"]] == [
        (f"mlx5_{rail}", rail) for rail in range(4)
    ]
    assert check(fabric) == []


def test_host_that_lacks_an_adapter_keeps_its_rails() -> None:
    net = rails(2, 4, 4, 4)
    net.cut("n2 mlx5_1", 1)
    fabric = load(net)
    assert [port.rail for port in fabric.hosts["n2"]] == [0, 2, 3]
    assert check(fabric) == []


def test_wrong_rail() -> None:
    net = rails(2, 4, 4, 4)
    net.swap(("su1-leaf1", 2), ("su1-leaf3", 2))
    assert kinds(net) == [("wrong rail", "n2 mlx5_0"), ("wrong rail", "n2 mlx5_2")]


def test_wrong_unit_joins_no_units() -> None:
    net = rails(2, 4, 4, 4)
    net.swap(("su1-leaf1", 2), ("su2-leaf1", 3))
    fabric = load(net)
    assert len(fabric.units) == 2
    assert [(it.kind, it.where) for it in check(fabric)] == [
        ("wrong rail", "n2 mlx5_0"),
        ("wrong rail", "n7 mlx5_0"),
    ]


def test_missing_link() -> None:
    net = two_level(4, radix=8)
    net.cut("leaf2", 7)
    (finding,) = check(load(net))
    assert (finding.kind, finding.where) == ("missing link", "leaf2")
    assert finding.what == "3 uplinks, where its peers have 4, none to spine3"


def test_slow_links() -> None:
    net = two_level(4, radix=8)
    net.set_rate("leaf2", 7, "4xFDR")
    net.set_rate("n1 mlx5_0", 1, "1xEDR")
    assert [(it.kind, it.where, it.what) for it in check(load(net))] == [
        ("slow link", "leaf2[7] - spine3[2]", "4xFDR, not 4xEDR"),
        ("slow link", "n1 mlx5_0[1]", "1xEDR, not 4xEDR"),
    ]


def test_leaf_to_leaf_cable() -> None:
    net = two_level(2, radix=8)
    net.cut("n1 mlx5_0", 1)
    net.cut("n5 mlx5_0", 1)
    net.cable("leaf1", 1, "leaf2", 1)
    assert ("sideways", "leaf1[1] - leaf2[1]") in kinds(net)


def test_no_subnet_manager_and_lid_used_twice() -> None:
    net = two_level(2, radix=4)
    (finding,) = check(Fabric(read_discovery(net.text(lids=False).splitlines(), "net")))
    assert finding.what == "8 ports have no LID: no subnet manager has run"
    text = net.text().replace("# lid 6 lmc 0", "# lid 5 lmc 0")
    (finding,) = check(Fabric(read_discovery(text.splitlines(), "net")))
    assert (finding.kind, finding.where) == ("lid", "n2 mlx5_0")


def test_hosts_of_one_name_stay_apart() -> None:
    text = two_level(2, radix=4).text()
    for name in ("n1 mlx5_0", "n2 mlx5_0"):
        text = text.replace(f'"{name}"', '"MT4123 ConnectX6 Mellanox Technologies"')
    fabric = Fabric(read_discovery(text.splitlines(), "net"))
    assert len(fabric.hosts) == 4
    assert f"MT4123 ConnectX6 Mellanox Technologies {CA_GUID:#x}" in fabric.hosts


@pytest.mark.parametrize(
    ("lines", "at"),
    [
        ([], 1),
        (["# only a comment"], 1),
        (["rubbish"], 1),
        (["switchguid=0x1(1)", f"Switch 8 {NAMED}", '[1] "H-2"[1](3) # "h" lid 3 4x'], 3),
        (['[1] "H-0000000000000002"[1](3) # "h" lid 3 4xEDR'], 1),
        ([f"Switch 8 {NAMED}", f"Switch 8 {NAMED}"], 2),
        ([f"Switch 8 {NAMED}", '[9] "S-2"[1] # "x" lid 2 4xEDR'], 2),
        ([f"Switch 8 {NAMED}", '[1] "S-2"[1] # "x" lid 2 4xEDR'], 2),
        ([f"Switch 8 {NAMED}", '[1] "S-2"[1] # "x" lid 2 4xEDR'] * 2, 3),
        ([f"Switch 8 {NAMED}", '[1] "S-2"[1] # "x" lid 2 3xEDR'], 2),
        ([f"Switch 8 {NAMED}", '[1] "S-2"[1] # "x" lid 2 4xWARP'], 2),
        (['Ca 1 "S-0000000000000001" # "h"'], 1),
        ([f"Switch 8 {NAMED}", '[1] "S-2"[1'], 2),
        (["\x7fELF\x02\x01\x01"], 1),
    ],
)
def test_malformed_discovery_names_the_line(lines: list[str], at: int) -> None:
    with pytest.raises(VgpuError) as error:
        read_discovery(lines, "f")
    assert error.value.fact.startswith(f"f:{at}: ")
    assert error.value.hint


@pytest.mark.parametrize("keep", [0.2, 0.5, 0.9, 0.99])
def test_half_a_discovery_is_refused(keep: float) -> None:
    text = two_level(4, radix=8).text()
    with pytest.raises(VgpuError, match=r"^f:\d+: "):
        read_discovery(text[: int(len(text) * keep)].splitlines(), "f")


HEAD = "Unicast lids [0-9] of switch Lid 1 guid 0x0001 ('s'):"


@pytest.mark.parametrize(
    ("lines", "at"),
    [
        ([], 1),
        (["0x0001 001"], 1),
        ([HEAD, "0x0001 001", "0x0001 002"], 3),
        ([HEAD, "0x0001 256"], 2),
        ([HEAD, "0xc000 001"], 2),
        ([HEAD, "0x0000 001"], 2),
        ([HEAD, HEAD], 2),
        ([HEAD, "0x0001"], 2),
        ([HEAD, "what"], 2),
    ],
)
def test_malformed_tables_name_the_line(lines: list[str], at: int) -> None:
    with pytest.raises(VgpuError) as error:
        read_tables(lines, "f")
    assert error.value.fact.startswith(f"f:{at}: ")


def test_tables_of_another_fabric() -> None:
    small, large = two_level(2, radix=8), two_level(4, radix=8)
    with pytest.raises(VgpuError, match=r"no table of leaf3 and 1 more"):
        Routes(load(large), read_tables(dump(small, tables(small)).splitlines(), "lfts"))


def test_good_tables() -> None:
    net = two_level(4, radix=8)
    fabric, routes, usage = follow(net, tables(net))
    assert (usage.pairs, usage.unreached, usage.shift) == (16 * 15, 0, 1)
    assert usage.follows == ["minhop", "updn", "ftree"]
    assert check_routes(fabric, routes, usage) == []
    # 12 hosts elsewhere send to each of a leaf's four, over four uplinks.
    assert {usage.load[link.high, link.high_port] for link in fabric.links} == {12}


def test_path_that_ends() -> None:
    net = two_level(4, radix=8)
    found = tables(net)
    lid = len(net.switch_ports) + 1
    del found["leaf2"][lid]
    fabric, routes, usage = follow(net, found)
    assert usage.unreached == 4
    first, total = check_routes(fabric, routes, usage)
    assert first.where == "leaf2"
    assert first.what == f"no path to n1 mlx5_0 (LID {lid}): it ends at leaf2"
    assert total.what == "4 of 240 pairs have no path"


def test_path_that_goes_round() -> None:
    net = two_level(4, radix=8)
    found = tables(net)
    lid = len(net.switch_ports) + 1
    spine = net.cables["leaf2", found["leaf2"][lid]]
    found[spine[0]][lid] = spine[1]
    fabric, routes, usage = follow(net, found)
    first = check_routes(fabric, routes, usage)[0]
    assert first.what.endswith(f"it goes round: leaf2, {spine[0]}, leaf2")


def test_host_behind_another_port() -> None:
    net = two_level(4, radix=8)
    found = tables(net)
    lid = len(net.switch_ports) + 1
    found["leaf1"][lid] = 2
    fabric, routes, usage = follow(net, found)
    assert usage.unreached == 15
    assert check_routes(fabric, routes, usage)[0].what.endswith("leaf1 sends it to another port")


def test_credit_loop_of_a_ring() -> None:
    """Four switches in a ring, all paths clockwise: the textbook's dead-lock."""
    net = Net()
    for number in range(4):
        net.switch(f"s{number}", 4)
    for number in range(4):
        net.cable(f"s{number}", 3, f"s{(number + 1) % 4}", 4)
        net.cable(net.ca(f"n{number} mlx5_0"), 1, f"s{number}", 1)
    found = {f"s{at}": {5 + to: 1 if at == to else 3 for to in range(4)} for at in range(4)}
    fabric, routes, usage = follow(net, found)
    assert usage.unreached == 0
    assert sorted(usage.credit_loop) == [(net.guid(f"s{number}"), 3) for number in range(4)]
    assert [it.kind for it in check_routes(fabric, routes, usage)] == ["credit loop"]


def test_unbalanced_tables() -> None:
    net = two_level(4, radix=8)
    found = tables(net)
    for leaf in ("leaf1", "leaf2", "leaf3", "leaf4"):
        found[leaf] = {lid: min(port, 5) for lid, port in found[leaf].items()}
    fabric, routes, usage = follow(net, found)
    assert {it.kind for it in check_routes(fabric, routes, usage)} == {"unbalanced"}
    assert "ftree" not in usage.follows


def test_fold() -> None:
    assert fold(["n1", "n2", "n3", "n7", "login"]) == "n[1-3,7],login"
    assert fold(["a08", "a09", "a10", "b1"]) == "a[08-10],b1"


def test_slurm_tree() -> None:
    assert FORMATS["slurm"](load(three_level(4))).splitlines()[1:] == [
        *(
            f"SwitchName=pod{pod}-leaf{leaf} Nodes=n[{4 * pod + 2 * leaf - 5}-"
            f"{4 * pod + 2 * leaf - 4}]"
            for pod in (1, 2, 3, 4)
            for leaf in (1, 2)
        ),
        *(f"SwitchName=block{pod} Switches=pod{pod}-leaf[1-2]" for pod in (1, 2, 3, 4)),
        "SwitchName=core Switches=block[1-4]",
    ]


def test_rails_become_one_place_in_a_tree() -> None:
    root = tree(load(rails(2, 4, 4, 4)))
    assert [(it.name, len(it.hosts)) for it in walk(root)] == [
        ("su1-leaf", 4),
        ("su2-leaf", 4),
        ("block", 0),
    ]


@pytest.mark.parametrize("form", ["kueue", "kai", "topograph"])
def test_labels_lead_from_each_host_to_the_root(form: str) -> None:
    found = json.loads(FORMATS[form](load(three_level(4))))["items"]
    nodes = {
        it["metadata"]["name"]: it["metadata"]["labels"] for it in found if it["kind"] == "Node"
    }
    assert len(nodes) == 16
    rows = [list(labels.values()) for labels in nodes.values()]
    assert [len({row[depth] for row in rows}) for depth in range(3)] == [1, 4, 8]
    if form != "topograph":
        levels = [it["nodeLabel"] for it in found[0]["spec"]["levels"]]
        assert levels == [*nodes["n1"], "kubernetes.io/hostname"]


def test_hypernodes() -> None:
    found = json.loads(FORMATS["volcano"](load(three_level(4))))["items"]
    assert sorted(it["spec"]["tier"] for it in found) == [1] * 8 + [2] * 4 + [3]
    named = {it["metadata"]["name"] for it in found}
    for it in found:
        for member in it["spec"]["members"]:
            assert (member["type"] == "Node") == (it["spec"]["tier"] == 1)
            assert member["type"] == "Node" or member["selector"]["exactMatch"]["name"] in named


def call(*args: str) -> Result:
    return CliRunner().invoke(command, args)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "discovery"
    path.write_text(two_level(4, radix=8).text())
    return path


def test_show(saved: Path) -> None:
    found = json.loads(call("show", str(saved), "--json").output)
    assert [len(row) for row in found["switches"]] == [4, 4]
    assert found["leaves"][0]["hosts"] == ["n1", "n2", "n3", "n4"]
    assert [it["to"] for it in found["leaves"][0]["uplinks"]] == [
        f"spine{number}" for number in (1, 2, 3, 4)
    ]
    assert found["hosts"][4] == {
        "name": "n5",
        "unit": 1,
        "ports": [
            {
                "hca": "mlx5_0",
                "guid": f"{CA_GUID + 64:#018x}",
                "port": 1,
                "lid": 13,
                "rail": 0,
                "leaf": "leaf2",
                "leaf_port": 1,
                "rate": "4xEDR",
                "gbps": 100.0,
            }
        ],
    }
    assert len(found["links"]) == 16
    assert "leaf4  0      4      0      4xEDR  4        1.00:1" in call("show", str(saved)).output


def test_check_exits_1_with_what_and_where(tmp_path: Path, saved: Path) -> None:
    good = call("check", str(saved), "--json")
    assert (good.exit_code, json.loads(good.output)["ok"]) == (0, True)
    net = two_level(4, radix=8)
    net.cut("leaf2", 7)
    (tmp_path / "bad").write_text(net.text())
    bad = call("check", str(tmp_path / "bad"), "--json")
    assert isinstance(bad.exception, VgpuError)
    assert bad.exception.exit_code == 1
    assert json.loads(bad.output)["findings"] == [
        {
            "kind": "missing link",
            "where": "leaf2",
            "what": "3 uplinks, where its peers have 4, none to spine3",
        }
    ]


def test_plot(tmp_path: Path, saved: Path) -> None:
    assert call("plot", str(saved), "-o", str(tmp_path / "f.svg")).exit_code == 0
    drawn = xml.dom.minidom.parse(str(tmp_path / "f.svg"))
    assert len(drawn.getElementsByTagName("line")) == 16
    assert len(drawn.getElementsByTagName("rect")) == 8


@pytest.mark.parametrize("args", [("show", "/no/such"), ("export", "/no/such", "--slurm")])
def test_file_that_is_not_there(args: tuple[str, ...]) -> None:
    error = call(*args).exception
    assert isinstance(error, VgpuError)
    assert error.fact == "/no/such: No such file or directory"


def test_live_without_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    error = call("show").exception
    assert isinstance(error, VgpuError)
    assert error.fact == "ibnetdiscover is not installed"
