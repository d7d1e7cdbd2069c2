"""`./coterie team security` makes a keystore once, and tells what each key may do."""

from pathlib import Path

import pytest

from coterie_bringup.errors import CommandError
from coterie_bringup.security.keystore import deal, problems
from coterie_bringup.security.rights import rights
from coterie_bringup.team import load_team
from coterie_cli.security import security

TEXT = "name: crew\nworld: {kind: embedded, seed: 3}\nrobots: [{name: eyes}]\n"


def test_a_keystore_is_made_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, keys = tmp_path / "crew.yaml", tmp_path / "keys"
    file.write_text(TEXT)
    assert security(file, out=keys, update=False) == 0
    told = capsys.readouterr().out
    for enclave in ("/team", "/robots/eyes", "/people/operator", "/people/listener"):
        assert f"{enclave} " in told
    assert told.count("(new)") == 4 and "listens, and commands nothing" in told
    assert "security: {enabled: true}" in told
    with pytest.raises(CommandError, match="holds a keystore already"):
        security(file, out=keys, update=False)
    file.write_text(TEXT + "security: {enabled: true, keystore: store, listeners: [wall]}\n")
    assert security(file, out=keys, update=True) == 0
    told = capsys.readouterr().out
    assert "/people/wall" in told and told.count("(new)") == 1
    assert f"looks for it in {tmp_path / 'store'}" in told
    team = load_team(file)
    assert not list(problems(team, keys, rights(team)))


def test_a_host_gets_its_own_keys_and_no_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, share = tmp_path / "crew.yaml", tmp_path / "cart"
    file.write_text(
        TEXT.replace("[{name: eyes}]", "[{name: eyes}, {name: ears}]")
        + "security: {enabled: true, keystore: store}\ndomain: 42\n"
        "hosts:\n  base: {address: 10.0.0.1, runs: [team], robots: [ears]}\n"
        "  cart: {address: 10.0.0.2, robots: [eyes]}\n"
    )
    with pytest.raises(CommandError, match="is not there"):
        security(file, out=share, update=False, host="cart")
    assert security(file, out=None, update=False) == 0
    for host, out, said in (("crt", share, "no host 'crt'"), ("cart", None, "--out")):
        with pytest.raises(CommandError, match=said):
            security(file, out=out, update=False, host=host)
    with pytest.raises(CommandError, match="makes keys"):
        security(file, out=tmp_path / "store", update=False, host="cart")
    for _ in range(2):  # anew, over what was copied before
        assert security(file, out=share, update=False, host="cart") == 0
    assert "/robots/eyes" in capsys.readouterr().out
    with pytest.raises(CommandError, match="Deal the share anew"):
        security(file, out=share, update=True)
    with pytest.raises(CommandError, match="/people/operator, /robots/eyes, which do not run"):
        deal(load_team(file), tmp_path / "store", ["/robots/ears"], share)
    secrets = {path.relative_to(share / "enclaves").parent for path in share.rglob("*key.pem")}
    assert secrets == {Path("robots/eyes"), Path("people/operator")}
    assert all(path.stat().st_mode & 0o077 == 0 for path in share.rglob("*key.pem"))
    team = load_team(file)
    assert not list(problems(team, share, ["/robots/eyes", "/people/operator"]))
    assert list(problems(team, share, ["/team"])) == ["lacks /team"]
