"""Teams on several computers: what the team file may say, and each one's share."""

from __future__ import annotations

import pytest

from coterie_bringup.errors import CommandError, PlanError
from coterie_bringup.hosts import (
    chosen_host,
    discovery_programs,
    driven_elsewhere,
    network_environment,
    require_address,
)
from coterie_bringup.launching import launch_plan
from coterie_bringup.plan import plan
from coterie_bringup.team import Team, parse_team
from coterie_core.yaml_marks import FileProblem

HEAD = """\
world: {kind: embedded, seed: 7}
robots:
  - {name: rover, embodiment: wheels}
  - {name: walker, embodiment: legs}
  - {name: drone, embodiment: air}
mapper: {}
domain: 42
"""
HOSTS = """\
hosts:
  base: {address: 192.168.1.10, runs: [team], robots: [drone]}
  cart: {address: 192.168.1.11, robots: [rover, walker]}
"""
THREE = """\
hosts:
  base: {address: 192.168.1.10, runs: [team], robots: [drone]}
  gpu: {address: gpu.lab, runs: [mapper]}
  cart: {address: 192.168.1.11, robots: [rover, walker]}
"""


def team(hosts: str = HOSTS, more: str = "") -> Team:
    return parse_team(HEAD + hosts + more)


def names(of: Team, host: str) -> list[str]:
    return [spec.name for spec in plan(of, host=host)]


def test_every_process_runs_on_one_host() -> None:
    of = team(THREE)
    shares = {host: names(of, host) for host in of.hosts}
    assert shares == {
        "base": ["bridge", "aggregator", "explorer.drone"],
        "gpu": ["mapper"],
        "cart": ["explorer.rover", "explorer.walker"],
    }
    assert sorted(name for share in shares.values() for name in share) == sorted(names(of, ""))


def test_a_map_of_each_robot_is_made_where_the_robot_is() -> None:
    of = team(HOSTS).model_copy(update={"mapper": team().mapper.model_copy(  # type: ignore[union-attr]
        update={"per_robot": True})})  # fmt: skip
    assert "mapper.rover" in names(of, "cart") and "mapper.rover" not in names(of, "base")
    assert "mapper" in names(of, "base") and "mapper" not in names(of, "cart")


def test_robots_are_driven_where_the_bridge_is() -> None:
    assert driven_elsewhere(team(), "base") == driven_elsewhere(team(), "") == ()
    assert driven_elsewhere(team(), "cart") == ("rover", "walker", "drone")


@pytest.mark.parametrize(
    ("hosts", "said"),
    [
        (HOSTS.replace("rover, walker", "rovr, walker"), "no robot 'rovr' in the team; did you"),
        (HOSTS.replace("[drone]", "[drone, rover]"), "'rover' is on the host base already"),
        (HOSTS.replace("rover, walker", "rover"), "no host runs walker"),
        (HOSTS.replace("runs: [team], ", ""), "no host runs the team's own processes"),
        (HOSTS.replace("runs: [team]", "runs: [team, leader]"), "the team has no leader"),
        (HOSTS.replace("runs: [team]", "runs: [tem]"), "hosts.base.runs[0]"),
        (HOSTS.replace("address: 192.168.1.11, ", ""), "hosts.cart.address"),
        (HOSTS.replace("192.168.1.11", "192.168.1.10"), "is the address of base, too"),
        (HOSTS.replace("192.168.1.11", "127.0.0.1"), "no other host reaches it there"),
        (HOSTS.replace("192.168.1.11", "192.168.1"), "neither an IPv4 address nor the name"),
        (HOSTS.replace("192.168.1.11", "a b; reboot"), "neither an IPv4 address nor the name"),
        (HOSTS.replace("192.168.1.11", "'fe80::1'"), "is IPv6"),
        (HOSTS.replace("192.168.1.11", "0.0.0.0"), "not the address of one computer"),
        (HOSTS.replace("cart:", "'cart $(reboot)':"), "cannot be a ROS namespace"),
        (HOSTS + "  idle: {address: 192.168.1.12}\n", "it runs nothing"),
        (HOSTS + "discovery: {kind: server, host: bas}\n", "no host 'bas'; did you mean 'base'"),
        (HOSTS + "discovery: {kind: carrier_pigeon}\n", "discovery.kind"),
        (HOSTS + "discovery: {port: 80}\n", "discovery.port"),
        ("discovery: {kind: server}\n", "say with `hosts` what runs where"),
    ],
)
def test_mistakes_are_named(hosts: str, said: str) -> None:
    with pytest.raises(FileProblem) as caught:
        team(hosts)
    assert said in str(caught.value)


def test_several_hosts_need_one_domain() -> None:
    with pytest.raises(FileProblem, match="all hosts meet in one ROS domain"):
        parse_team(HEAD.replace("domain: 42\n", "") + HOSTS)


def test_the_host_has_to_be_said() -> None:
    of = team()
    assert chosen_host(of, "cart") == "cart"
    assert chosen_host(of, "all") == ""
    with pytest.raises(CommandError, match=r"several hosts.*--host base | cart.*--host all"):
        chosen_host(of, "")
    with pytest.raises(CommandError, match="no host 'crt'; did you mean 'cart'"):
        chosen_host(of, "crt")
    alone = parse_team(HEAD)
    assert chosen_host(alone, "") == chosen_host(alone, "all") == ""
    with pytest.raises(CommandError, match="has no `hosts`"):
        chosen_host(alone, "base")


def test_a_share_starts_only_on_its_own_computer() -> None:
    here = team(HOSTS.replace("192.168.1.10", "198.51.100.7"))
    with pytest.raises(CommandError, match="no address of this computer"):
        require_address(here, "base")
    one = team("hosts: {base: {address: 127.0.0.1, runs: [team], robots: [rover, walker, drone]}}")
    require_address(one, "base")


def test_multicast_names_the_other_hosts_as_peers() -> None:
    environment = network_environment(team(THREE), "cart")
    assert environment["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "SUBNET"
    assert environment["ROS_STATIC_PEERS"] == "192.168.1.10;gpu.lab"
    assert all(spec.environment.items() >= environment.items()
               for spec in plan(team(THREE), host="cart"))  # fmt: skip
    assert discovery_programs(team(THREE), "base") == []


def test_a_discovery_server_runs_on_one_host_and_all_know_it() -> None:
    of = team(THREE, "discovery: {kind: server, host: gpu, port: 11900}\n")
    for host in of.hosts:
        assert network_environment(of, host)["ROS_DISCOVERY_SERVER"] == "gpu.lab:11900"
    commands = {host: discovery_programs(of, host) for host in of.hosts}
    assert not commands["base"] and not commands["cart"]
    (server,) = commands["gpu"]
    assert server.command[0].endswith("fast-discovery-server")
    assert server.command[-2:] == ("-p", "11900")


def test_zenoh_that_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    of = team(HOSTS, "discovery: {kind: zenoh}\n")
    monkeypatch.setenv("AMENT_PREFIX_PATH", "/nowhere")
    with pytest.raises(PlanError, match="rmw_zenoh_cpp is not installed here"):
        discovery_programs(of, "base")


def test_zenoh_has_a_router_on_each_host(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    prefix = tmp_path_factory.mktemp("zenoh")
    router = prefix / "lib" / "rmw_zenoh_cpp" / "rmw_zenohd"
    router.parent.mkdir(parents=True)
    router.write_text("#!/bin/sh\n")
    router.chmod(0o755)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(prefix))
    of = team(HOSTS, "discovery: {kind: zenoh}\n")
    assert network_environment(of, "cart")["RMW_IMPLEMENTATION"] == "rmw_zenoh_cpp"
    (main,), (other,) = discovery_programs(of, "base"), discovery_programs(of, "cart")
    assert "connect" not in main.environment["ZENOH_CONFIG_OVERRIDE"]
    assert (
        'connect/endpoints=["tcp/192.168.1.10:7447"]'
        in (other.environment["ZENOH_CONFIG_OVERRIDE"])
    )


def test_the_launch_file_does_what_up_does(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("launch")
    monkeypatch.setenv("COTERIE_STATE", str(folder / "state"))
    file = folder / "team.yaml"
    one = "hosts: {base: {address: 127.0.0.1, runs: [team], robots: [rover, walker, drone]}}\n"
    file.write_text(HEAD + one + "discovery: {kind: server}\n")
    with pytest.raises(CommandError, match=r"host:= base, or host:= all"):
        launch_plan({"team": str(file), "host": ""})
    planned = launch_plan({"team": str(file), "host": "base"})
    assert planned.environment["ROS_DISCOVERY_SERVER"] == "127.0.0.1:11811"
    assert [program.name for program in planned.discovery] == ["discovery"]
    assert not launch_plan({"team": str(file), "host": "all"}).discovery


def test_a_real_robot_listens_to_the_team_on_other_hosts() -> None:
    real = HEAD.replace("{kind: embedded, seed: 7}", "{kind: real}").replace("mapper: {}\n", "")
    real = real.replace("}\n  -", ", adapter: {}}\n  -").replace("air}", "air, adapter: {}}")
    of = parse_team(real + HOSTS.replace("rover, walker]", "rover, walker], cut_off: 4"))
    parameters = {spec.name: spec.parameters for host in of.hosts for spec in plan(of, host=host)}
    rover = parameters["adapter.rover"]["rover/adapter"]
    assert (rover["team_nodes"], rover["cut_off"]) == ("aggregator", 4.0)
    assert "team_nodes" not in parameters["adapter.drone"]["drone/adapter"]  # with the aggregator
    alone = {spec.name: spec.parameters for spec in plan(of)}
    assert "team_nodes" not in alone["adapter.rover"]["rover/adapter"]
