"""`./coterie security` makes a keystore once, and tells what each key may do."""

from pathlib import Path

import pytest

from coterie_bringup.errors import CommandError
from coterie_bringup.security.keystore import problems
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
    assert told.count("(new key)") == 4 and "listens, and commands nothing" in told
    assert "security: {enabled: true}" in told
    with pytest.raises(CommandError, match="holds a keystore already"):
        security(file, out=keys, update=False)
    file.write_text(TEXT + "security: {enabled: true, keystore: store, listeners: [wall]}\n")
    assert security(file, out=keys, update=True) == 0
    told = capsys.readouterr().out
    assert "/people/wall" in told and told.count("(new key)") == 1
    assert f"looks for it in {tmp_path / 'store'}" in told
    team = load_team(file)
    assert not list(problems(team, keys, rights(team)))
