"""`./coterie security`: make the keystore of a team, and tell what each key may do."""

from __future__ import annotations

from pathlib import Path

from coterie_bringup.security.keystore import keystore_folder, make_keystore
from coterie_bringup.security.rights import TEAM, person_enclave, rights, robot_enclave
from coterie_bringup.team import load_team


def security(file: Path, *, out: Path | None, update: bool) -> int:
    """Make the keystore of the team of a file; return the exit code.

    Args:
        file: Team file.
        out: Where the keystore goes; None: where the team looks for it.
        update: Keep the keys of a keystore that is there, and write its permissions anew.

    Raises:
        CommandError: There is a keystore already, or the folder cannot be used.
    """
    team = load_team(file)
    folder = out if out is not None else keystore_folder(team)
    new = make_keystore(team, folder.absolute(), update=update)
    may = {TEAM: "runs the team: everything in its namespace"}
    may |= {robot_enclave(r.name): f"speaks for {r.name} alone" for r in team.robots}
    may |= {person_enclave(n): "commands the robots" for n in team.security.operators}
    may |= {person_enclave(n): "listens, and commands nothing" for n in team.security.listeners}
    print(f"team {team.name}: keystore {folder}")
    for enclave in rights(team):
        print(f"  {enclave:<24} {may[enclave]}" + (" (new key)" if enclave in new else ""))
    print(
        f"  {folder}/private/ca.key.pem signs keys: whoever has it can make one; keep it off robots"
    )
    if not team.security.enabled:
        print("The team does not use it yet: write `security: {enabled: true}` into its file.")
    elif folder.resolve() != keystore_folder(team).resolve():
        print(f"The team looks for it in {keystore_folder(team)}: copy what belongs there.")
    return 0
