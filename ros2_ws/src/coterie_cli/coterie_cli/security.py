"""`./coterie team security`: make the keystore of a team, and tell what each key may do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coterie_bringup.errors import CommandError
from coterie_bringup.security.enforcing import enclaves_of
from coterie_bringup.security.rights import TEAM, person_enclave, rights, robot_enclave
from coterie_bringup.team import Team, load_team
from coterie_cli.options import TeamFile


def security(
    file: TeamFile,
    out: Annotated[
        Path | None,
        typer.Option(
            file_okay=False,
            help="Folder for the keystore; default: where the team file says that it is.",
        ),
    ] = None,
    update: Annotated[
        bool,
        typer.Option(
            "--update",
            help="Keys that are there stay; missing ones are made, certificates that end within 30 "
            "days are renewed, and all permissions are written anew.",
        ),
    ] = False,
    host: Annotated[
        str,
        typer.Option(
            help="Host of the team file: only what its processes need is copied from the keystore "
            "to the folder of `--out`, for that computer."
        ),
    ] = "",
) -> int:
    """Make the keystore of a team: keys, and who may command and who may only listen."""
    from coterie_bringup.security.keystore import keystore_folder, make_keystore

    team = load_team(file)
    if host:
        return _dealt(team, host, out)
    folder = out if out is not None else keystore_folder(team)
    new = make_keystore(team, folder.absolute(), update=update)
    may = {TEAM: "runs the team: everything in its namespace"}
    may |= {robot_enclave(r.name): f"speaks for {r.name} alone" for r in team.robots}
    may |= {person_enclave(n): "commands the robots" for n in team.security.operators}
    may |= {person_enclave(n): "listens, and commands nothing" for n in team.security.listeners}
    print(f"team {team.name}: keystore {folder}")
    for enclave in rights(team):
        print(f"  {enclave:<24} {may[enclave]}" + (" (new)" if enclave in new else ""))
    print(
        f"  {folder}/private/ca.key.pem signs keys: whoever has it can make one; keep it off robots"
    )
    if not team.security.enabled:
        print("The team does not use it yet: write `security: {enabled: true}` into its file.")
    elif folder.resolve() != keystore_folder(team).resolve():
        print(f"The team looks for it in {keystore_folder(team)}: copy what belongs there.")
    return 0


def _dealt(team: Team, host: str, out: Path | None) -> int:
    from coterie_bringup.plan import plan
    from coterie_bringup.security.keystore import deal, keystore_folder

    if out is None:
        raise CommandError("--host: say with --out where the host's share of the keys goes")
    if host not in team.hosts:
        known = ", ".join(team.hosts) or "none in its file"
        raise CommandError(f"--host: no host {host!r}; hosts of team {team.name}: {known}")
    needed = enclaves_of(team, plan(team, host=host))
    deal(team, keystore_folder(team), needed, out.absolute())
    print(f"team {team.name}: keys of host {host} in {out}")
    for enclave in needed:
        print(f"  {enclave}")
    print(f"Copy it to {keystore_folder(team)} there (`security.keystore` says another place).")
    return 0
