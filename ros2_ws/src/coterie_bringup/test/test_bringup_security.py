"""Keystores of teams: who may do what, in files as DDS security wants them; enforced or refused."""

from __future__ import annotations

import os
import shutil
import ssl
import stat
import subprocess
from datetime import datetime, timedelta, timezone
from pathlib import Path
from xml.etree import ElementTree

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from coterie_bringup.errors import CommandError
from coterie_bringup.plan import plan
from coterie_bringup.running_team import prepared
from coterie_bringup.security import documents
from coterie_bringup.security.enforcing import exposure, operator_environment, warnings
from coterie_bringup.security.keystore import FILES, keystore_folder, make_keystore, problems
from coterie_bringup.security.rights import TEAM, rights
from coterie_bringup.team import Team, load_team, parse_team
from coterie_core.ros_graph import interfaces
from coterie_core.yaml_marks import FileProblem

TEXT = """\
name: crew
world: {kind: embedded, seed: 31, floors: 1, rooms: 5}
robots: [{name: eyes}, {name: hands, role: worker}]
leader: {}
security: {enabled: true, operators: [anna, ben], listeners: [wall]}
"""
ROBOT, PERSON, WALL = "/robots/eyes", "/people/anna", "/people/wall"
SECRET = stat.S_IRUSR | stat.S_IWUSR


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))
    file = tmp_path / "crew.yaml"
    file.write_text(TEXT)
    return load_team(file)


@pytest.fixture
def keystore(team: Team) -> Path:
    folder = keystore_folder(team)
    make_keystore(team, folder)
    return folder


def test_who_may_command_and_who_may_only_listen(team: Team) -> None:
    may = rights(team)
    commands = [
        *("rt/stop", "rt/eyes/stop", "rt/hands/cmd_vel", "rt/hands/goal_pose", "rt/correct_map"),
        *("rq/eyes/stopRequest", "rq/hands/answer_permitRequest", "rq/hand_overRequest"),
        *(f"rq/{robot}/{skill}/_action/send_goalRequest"
          for robot in ("eyes", "hands") for skill in ("navigate_to", "manipulate")),
        "rq/execute_task/_action/cancel_goalRequest",
        "rq/eyes/explorer/set_parametersRequest",
    ]  # fmt: skip
    for command in commands:
        assert may[PERSON].may_publish(command), command
        assert may[TEAM].may_publish(command), command
        assert not may[WALL].may_publish(command), command
        mine = command.split("/")[1].startswith("eyes")
        assert may[ROBOT].may_publish(command) == mine, command
    for topic in ("rt/eyes/camera/color/image_raw", "rt/semantic_map", "rt/final_answer", "rt/tf"):
        assert all(one.may_subscribe(topic) for one in may.values()), topic
    assert not may[WALL].may_subscribe("rr/hands/askReply")
    assert may[PERSON].may_publish("rr/ask_personReply")
    assert not may[ROBOT].may_publish("rr/execute_task/_action/send_goalReply")
    assert not may[ROBOT].may_publish("rt/hands/answer")
    assert may[ROBOT].may_publish("rt/eyes/answer") and may[ROBOT].may_publish("rt/object_events")


def test_rights_move_with_the_namespace_and_hold_what_drivers_need(team: Team) -> None:
    security = team.security.model_copy(update={"robot_names": ("/camera/color",)})
    moved = team.model_copy(update={"namespace": "lab", "security": security})
    may = rights(moved)
    assert may[PERSON].may_publish("rt/lab/stop") and not may[PERSON].may_publish("rt/stop")
    assert may[TEAM].may_publish("rt/lab/tf") and not may[TEAM].may_publish("rt/eyes/stop")
    assert may[WALL].may_subscribe("rt/lab/eyes/answer")
    assert not may[WALL].may_subscribe("rt/eyes/answer")
    assert may[ROBOT].may_publish("rt/camera/color") and not may[WALL].may_publish(
        "rt/camera/color"
    )


def test_every_command_of_the_graph_is_a_persons_and_no_listeners(team: Team) -> None:
    """Whatever people send is allowed to operators alone: no entry of the graph is left out."""
    may = rights(team)
    names = {
        "topic": "rt/{}",
        "service": "rq/{}Request",
        "action": "rq/{}/_action/send_goalRequest",
    }
    for one in interfaces():
        for name in one.plain_names(["eyes", "hands"]):
            topic = names[one.kind].format(name.lstrip("/"))
            assert may[PERSON].may_publish(topic) == ("operator" in one.senders), topic
            assert not may[WALL].may_publish(topic), topic


def test_an_enclave_has_all_that_ros_asks_for_and_keys_are_private(keystore: Path) -> None:
    for folder in ("team", "robots/eyes", "robots/hands", "people/anna", "people/wall"):
        own = keystore / "enclaves" / folder
        assert {*FILES, "permissions.xml"} == {file.name for file in own.iterdir()}
        assert stat.S_IMODE((own / "key.pem").stat().st_mode) == SECRET
        certificate = x509.load_pem_x509_certificate((own / "cert.pem").read_bytes())
        assert certificate.subject.rfc4514_string() == f"CN=/{folder}"
        authority = x509.load_pem_x509_certificate((own / "identity_ca.cert.pem").read_bytes())
        certificate.verify_directly_issued_by(authority)
    assert stat.S_IMODE((keystore / "private/ca.key.pem").stat().st_mode) == SECRET
    assert stat.S_IMODE(keystore.stat().st_mode) == stat.S_IRWXU


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl checks the signatures")
def test_openssl_finds_the_signatures_good_and_a_change_bad(keystore: Path, tmp_path: Path) -> None:
    authority = keystore / "public" / "permissions_ca.cert.pem"
    signed = sorted(keystore.rglob("*.p7s"))
    assert len(signed) == 2 * 5 + 2 + 1
    for file in signed:
        done = _verify(file, authority)
        assert done.returncode == 0, (file, done.stderr)
        plain = keystore / "enclaves" / "governance.xml"
        if file.name == "permissions.p7s":
            plain = file.with_suffix(".xml")
        assert plain.read_text() in done.stdout.replace("\r\n", "\n")
    forged = tmp_path / "forged.p7s"
    text = (keystore / "enclaves/people/wall/permissions.p7s").read_text()
    forged.write_text(text.replace("<default>DENY", "<default>ALLOW"))
    assert _verify(forged, authority).returncode != 0


def _verify(file: Path, authority: Path) -> subprocess.CompletedProcess[str]:
    command = ["openssl", "smime", "-verify", "-text", "-in", str(file), "-CAfile", str(authority)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def shape(element: ElementTree.Element) -> object:
    """Names of an element's parts, in order, equal neighbours once."""
    parts: list[object] = []
    for child in element:
        if (found := shape(child)) not in parts[-1:]:
            parts.append(found)
    return (element.tag, parts) if parts else element.tag


def test_documents_have_the_form_that_the_schema_demands(team: Team, keystore: Path) -> None:
    """Elements, their order and the spelling of values as in DDS-Security 1.1, 9.4.1."""
    domains = ("domains", [("id_range", ["min", "max"])])
    rule = [
        domains,
        "allow_unauthenticated_participants",
        "enable_join_access_control",
        "discovery_protection_kind",
        "liveliness_protection_kind",
        "rtps_protection_kind",
        ("topic_access_rules", [("topic_rule", [
            "topic_expression", "enable_discovery_protection", "enable_liveliness_protection",
            "enable_read_access_control", "enable_write_access_control",
            "metadata_protection_kind", "data_protection_kind",
        ])]),
    ]  # fmt: skip
    root = ElementTree.fromstring(documents.governance())
    assert shape(root) == ("dds", [("domain_access_rules", [("domain_rule", rule)])])
    values = {one.tag: one.text for one in root.iter() if one.text and one.text.strip()}
    assert values["allow_unauthenticated_participants"] == "false"
    assert values["enable_join_access_control"] == "true"
    assert {values[k] for k in values if k.endswith("protection_kind")} == {"ENCRYPT", "SIGN"}
    topics = ("topics", ["topic"])
    grant = [
        "subject_name",
        ("validity", ["not_before", "not_after"]),
        ("allow_rule", [domains, ("publish", [topics]), ("subscribe", [topics])]),
        "default",
    ]
    for name in rights(team):
        root = ElementTree.parse(keystore / "enclaves" / name[1:] / "permissions.xml").getroot()
        assert shape(root) == ("dds", [("permissions", [("grant", grant)])])
        assert root.findtext(".//subject_name") == f"CN={name}"
        assert root.findtext(".//default") == "DENY"


def test_a_keystore_is_never_overwritten_and_keys_outlive_an_update(
    team: Team, keystore: Path
) -> None:
    keys = {file: file.read_bytes() for file in keystore.rglob("*key.pem")}
    with pytest.raises(CommandError, match="--update"):
        make_keystore(team, keystore)
    more = team.model_copy(
        update={"robots": (*team.robots, team.robots[0].model_copy(update={"name": "new"}))}
    )
    assert "lacks /robots/new" in list(problems(more, keystore, rights(more)))
    assert any("another team file" in text for text in problems(more, keystore, [PERSON]))
    assert make_keystore(more, keystore, update=True) == ["/robots/new"]
    assert not list(problems(more, keystore, rights(more)))
    assert all(file.read_bytes() == data for file, data in keys.items())


def test_certificates_that_end_are_told_renewed_and_refused_when_over(
    team: Team, keystore: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = (keystore / "enclaves" / ROBOT[1:] / "key.pem").read_bytes()
    specs = plan(team)
    assert warnings(team, specs, {}, 7) == []

    def at(days: float) -> None:
        now = datetime.now(timezone.utc) + timedelta(days=days)
        clock = type("Clock", (datetime,), {"now": classmethod(lambda cls, zone=None: now)})
        monkeypatch.setattr("coterie_bringup.security.keystore.datetime", clock)

    at(340)
    (told,) = warnings(team, specs, {}, 7)
    assert f"{ROBOT} on 20" in told and f"{PERSON} on 20" in told and "--update" in told
    assert PERSON not in warnings(team, specs, {}, 7, operator=False)[0]
    assert not list(problems(team, keystore, rights(team)))
    at(-3)
    said = list(problems(team, keystore, [ROBOT]))
    assert len(said) == 2 and all("the clock here says" in text for text in said)
    assert "its certificate holds from" in said[0] and "set it" in said[0]
    at(366)
    said = list(problems(team, keystore, [ROBOT]))
    assert len(said) == 2 and "its certificate ended on" in said[0] and "hold from" in said[1]
    at(340)
    assert ROBOT in make_keystore(team, keystore, update=True)
    assert warnings(team, specs, {}, 7) == []
    assert make_keystore(team, keystore, update=True) == []
    at(400)
    assert make_keystore(team, keystore, update=True) == []
    at(380)
    (said,) = problems(team, keystore, [ROBOT])  # a clock that is behind
    assert "its permissions hold from" in said
    at(400)
    assert not list(problems(team, keystore, rights(team)))
    assert (keystore / "enclaves" / ROBOT[1:] / "key.pem").read_bytes() == key


def test_what_is_wrong_with_a_keystore_is_told(team: Team, keystore: Path, tmp_path: Path) -> None:
    own = keystore / "enclaves" / ROBOT[1:]
    for file in ("permissions.p7s", "governance.p7s"):
        signed = (own / file).read_bytes()
        (own / file).write_bytes(signed.replace(b"DENY", b"ALLOW").replace(b"ENCRYPT", b"NONE"))
        told = list(problems(team, keystore, [ROBOT]))
        assert told == [f"{ROBOT}: {file} is not what was signed for this team"]
        (own / file).write_bytes(signed)
    (own / "key.pem").chmod(0o644)
    assert ["others may read" in text for text in problems(team, keystore, [ROBOT])] == [True]
    (own / "key.pem").write_bytes((keystore / "enclaves/team/key.pem").read_bytes())
    assert any("does not belong" in text for text in problems(team, keystore, [ROBOT]))
    (own / "cert.pem").write_text("nonsense")
    assert any("cannot be read" in text for text in problems(team, keystore, [ROBOT]))
    holder = x509.load_pem_x509_certificate((keystore / "enclaves/team/cert.pem").read_bytes())
    plain = holder.public_bytes(Encoding.DER)
    odd = plain.replace(bytes.fromhex("2a8648ce3d0201"), bytes.fromhex("2a8648ce3d0202"))
    assert odd != plain  # a key of a kind that nobody knows
    (own / "cert.pem").write_text(ssl.DER_cert_to_PEM_cert(odd))
    assert list(problems(team, keystore, [ROBOT]))
    (own / "cert.pem").unlink()
    assert list(problems(team, keystore, [ROBOT])) == [f"has no cert.pem for {ROBOT}"]
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").write_text("mine")
    with pytest.raises(CommandError, match="not empty"):
        make_keystore(team, other)
    (keystore / "private" / "ca.key.pem").unlink()
    with pytest.raises(CommandError, match="where the keystore was made"):
        make_keystore(team, keystore, update=True)


@pytest.mark.parametrize(
    "wrong, said",
    [
        ("keystore: ../keys", "leads out"),
        ("operators: []", "operators"),
        ("operators: [a], listeners: [a]", "named twice"),
        ("listeners: ['../x']", "listeners"),
        ("robot_names: [camera]", "no full name of ROS"),
        ("robot_names: ['/a b']", "no full name of ROS"),
        ("days: 0", "days"),
        ("enable: true", "did you mean 'enabled'"),
    ],
)
def test_mistakes_in_the_section_are_told(wrong: str, said: str) -> None:
    text = TEXT.partition("security:")[0] + f"security: {{{wrong}}}\n"
    with pytest.raises(FileProblem, match=said):
        parse_team(text)


def test_processes_have_enclaves_and_tools_are_an_operators(team: Team) -> None:
    found = {
        spec.name: spec.environment["ROS_SECURITY_ENCLAVE_OVERRIDE"]
        for spec in plan(team, run_directory=None)
    }
    assert found["bridge"] == found["leader"] == TEAM
    assert found["explorer.eyes"] == ROBOT and found["robot.hands"] == "/robots/hands"
    tools = operator_environment(team)
    assert tools["ROS_SECURITY_ENCLAVE_OVERRIDE"] == PERSON
    assert tools["ROS_SECURITY_STRATEGY"] == "Enforce" and tools["ROS_SECURITY_ENABLE"] == "true"
    off = team.model_copy(update={"security": team.security.model_copy(update={"enabled": False})})
    assert not any("SECURITY" in key for spec in plan(off) for key in spec.environment)
    assert operator_environment(off) == {}


def test_without_its_keystore_a_team_does_not_start(team: Team) -> None:
    with pytest.raises(
        CommandError, match=r"is not there\. Make it with `\./coterie team security"
    ):
        prepared(team, domain=1).__enter__()


@pytest.mark.ros
def test_a_middleware_without_security_is_no_reason_to_run_unprotected(
    team: Team, keystore: Path, ros_domain: int
) -> None:
    """The wheels' Fast DDS has none; where ROS is installed it has, and the team is prepared."""
    trial = prepared(team, domain=ros_domain)
    if Path("/opt/ros").is_dir() and "AMENT_PREFIX_PATH" in os.environ:
        with trial as run:
            assert run.environment["ROS_SECURITY_ENABLE"] == "true"
        return
    with pytest.raises(CommandError, match="built without DDS security"):
        trial.__enter__()


def test_what_is_open_is_said(monkeypatch: pytest.MonkeyPatch, team: Team) -> None:
    for name in ("ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_DISCOVERY_SERVER", "ROS_STATIC_PEERS"):
        monkeypatch.delenv(name, raising=False)
    loud = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}
    quiet = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    assert exposure(team, loud, 7) == ""
    off = team.model_copy(update={"security": team.security.model_copy(update={"enabled": False})})
    told = exposure(off, loud, 7)
    assert "domain 7" in told and "command the robots" in told and "cameras" in told
    assert "LOCALHOST" in told and "security: {enabled: true}" in told
    assert exposure(off, quiet, 7) == ""
    assert "10.0.0.2" in exposure(off, {**quiet, "ROS_STATIC_PEERS": "10.0.0.2"}, 7)
    assert "discovery server" in exposure(off, {"ROS_DISCOVERY_SERVER": "10.0.0.2:11811"}, 7)
    assert exposure(off, {}, 7)
