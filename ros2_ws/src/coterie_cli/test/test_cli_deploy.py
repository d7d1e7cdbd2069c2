"""Folders of hosts: environment, units and compose files, from a checked team file only."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from coterie_bringup.errors import CommandError
from coterie_bringup.rundir import key_file
from coterie_cli.deploy import deploy
from coterie_safety.permits import load_key
from coterie_safety.permits.answer import load_public_key

TEAM = """\
name: split
world: {kind: embedded, house: house.json}
robots:
  - {name: rover, embodiment: wheels}
  - {name: walker, embodiment: legs}
domain: 42
hosts:
  base: {address: 192.168.1.10, runs: [team], robots: [walker]}
  cart: {address: 192.168.1.11, robots: [rover]}
discovery: {kind: server}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))
    file = tmp_path / "team.yaml"
    file.write_text(TEAM)
    (tmp_path / "house.json").write_text("{}")
    return file


def settings(file: Path) -> dict[str, str]:
    lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def test_each_host_has_what_it_needs(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = file.parent / "out"
    deploy(file, out, "systemd")
    for host in ("base", "cart"):
        environment = settings(out / host / "split.env")
        assert environment["ROS_DOMAIN_ID"] == "42"
        assert environment["ROS_DISCOVERY_SERVER"] == "192.168.1.10:11811"
        assert (out / host / "split.yaml").read_text() == TEAM
        assert (out / host / "house.json").read_text() == "{}"
        assert not (out / host / "permits.key").exists()  # a robot that is taken signs for nobody
        public = load_public_key(out / host / "permits.pub")
        assert public == load_key(key_file()).public_key()
        unit = (out / host / "coterie-split.service").read_text()
        assert f"ExecStart=/opt/coterie/coterie up /etc/coterie/split.yaml --host {host}\n" in unit
    said = capsys.readouterr().out
    assert "cart: explorer.rover\n" in said and "UDP port 11811 of base" in said
    deploy(file, out, "systemd")  # again is well


def test_a_persons_environment_can_be_sourced(file: Path) -> None:
    file.write_text(TEAM.replace("server", "multicast"))
    out = file.parent / "out"
    deploy(file, out, "systemd")
    script = f". {out / 'operator.env'}; echo $ROS_DOMAIN_ID $ROS_STATIC_PEERS"
    told = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout == "42 192.168.1.10;192.168.1.11\n"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_takes_the_units(file: Path) -> None:
    out = file.parent / "out"
    deploy(file, out, "systemd")
    unit = out / "cart" / "coterie-split.service"
    # The program is not where it will be on the host.
    unit.write_text(
        unit.read_text().replace("ExecStart=/opt/coterie/coterie", "ExecStart=/bin/true")
    )
    told = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert told.returncode == 0 and "coterie-split" not in told.stderr, told.stderr


def test_a_compose_file_runs_the_share_in_the_hosts_network(file: Path) -> None:
    out = file.parent / "out"
    deploy(file, out, "compose")
    data = yaml.safe_load((out / "cart" / "compose.yaml").read_text())
    service = data["services"]["coterie"]
    assert service["command"] == ["up", "/etc/coterie/split.yaml", "--host", "cart"]
    assert service["network_mode"] == "host"
    assert [(out / "cart" / name).is_file() for name in service["env_file"]] == [True]
    kept = settings(out / "cart" / "split.env")["COTERIE_STATE"]
    assert any(volume.endswith(f":{kept}") for volume in service["volumes"])


def test_what_nobody_agreed_to_is_not_deployed(
    file: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COTERIE_TRUST", raising=False)
    monkeypatch.setattr("sys.stdin", None)
    house = tmp_path_factory.mktemp("elsewhere") / "house.json"
    house.write_text("{}")
    file.write_text(TEAM.replace("house.json", str(house)))
    with pytest.raises(CommandError, match="not trusted with before"):
        deploy(file, file.parent / "out", "systemd")
    monkeypatch.setenv("COTERIE_TRUST", "1")
    deploy(file, file.parent / "out", "systemd")
    assert settings(file.parent / "out" / "cart" / "split.env")["COTERIE_TRUST"] == "1"


def test_folders_of_others_are_left_alone(file: Path) -> None:
    (file.parent / "out" / "cart").mkdir(parents=True)
    with pytest.raises(CommandError, match="is not of a deploy"):
        deploy(file, file.parent / "out", "systemd")
    assert not (file.parent / "out" / "base").exists()


def test_a_team_without_hosts_has_nothing_to_deploy(file: Path) -> None:
    file.write_text(TEAM[: TEAM.index("hosts:")])
    with pytest.raises(CommandError, match="no `hosts`"):
        deploy(file, None, "systemd")
