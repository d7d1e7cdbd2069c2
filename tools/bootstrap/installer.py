"""Install pinned Python packages into an environment: with uv, or with pip where uv cannot be had.

requirements/NAME.txt names what Coterie asks for, requirements/lock/NAME.txt all that this pulls
in. Together they are a group. Nothing is resolved while installing: what is listed is installed,
and nothing else.
"""

from __future__ import annotations

import ast
import csv
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from bootstrap import terminal
from bootstrap.errors import SetupError
from bootstrap.plan import Layout
from bootstrap.slim import LEFT_OUT

#: Kept in a folder of its own below .coterie, out of the way of an uv of the user's.
UV = "0.13.9"

_PIN = re.compile(r"([A-Za-z0-9_.-]+)(?:\[[\w,-]+\])?\s*==")
_VERSION = re.compile(r"[^=;]*==\s*([^\s;]+)")
#: File of `requirements/lock` with the hashes of all that is installed.
HASHES = "hashes"
#: Settings of pip that uv has under another name.
_SAME_IN_UV = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "no-index": "UV_NO_INDEX",
    "no-cache-dir": "UV_NO_CACHE",
    "timeout": "UV_HTTP_TIMEOUT",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "cert": "SSL_CERT_FILE",
    "client-cert": "SSL_CLIENT_CERT",
    "proxy": "ALL_PROXY",
}


def canonical(name: str) -> str:
    """Return a distribution's name in the form in which two spellings of it are equal."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned_name(line: str) -> str | None:
    """Return the name of the distribution that a requirement line pins, None if it pins none."""
    match = _PIN.match(line)
    return canonical(match[1]) if match else None


def pinned_lines(file: Path) -> list[str]:
    """Return the lines of a file that are no comments."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def requirement_lines(folder: Path, groups: Sequence[str], *, wheels: bool) -> list[str]:
    """Return all that is installed for some groups.

    Args:
        folder: The folder ``requirements``.
        groups: Names of its files; ``ros`` is without effect where ROS does not come from wheels.
        wheels: Does ROS come from wheels? If not, what ``system.txt`` pins takes the place of the
            other files' pins of the same name.
    """
    lines: list[str] = []
    for name in groups:
        if name != "ros":
            lines += pinned_lines(folder / f"{name}.txt")
            lines += pinned_lines(folder / "lock" / f"{name}.txt")
        elif wheels:
            lines += pinned_lines(folder / "ros.txt")
    if not wheels:
        chosen = pinned_lines(folder / "system.txt")
        taken = {pinned_name(line) for line in chosen}
        if "run" not in groups:
            here = {pinned_name(line) for line in lines}
            chosen = [line for line in chosen if pinned_name(line) in here]
        lines = [*chosen, *(line for line in lines if pinned_name(line) not in taken)]
    return list(dict.fromkeys(lines))


def hashes(folder: Path) -> dict[tuple[str, str], list[str]]:
    """Return the hashes of the files that a pin may be installed from, by name and version.

    Args:
        folder: The folder ``requirements``.
    """
    found = {}
    for line in pinned_lines(folder / "lock" / HASHES):
        pin, *known = line.split()
        name, _, version = pin.partition("==")
        found[name, version] = known
    return found


def with_hashes(lines: Sequence[str], known: Mapping[tuple[str, str], Sequence[str]]) -> list[str]:
    """Return requirement lines with the hashes of their files.

    Raises:
        SetupError: One has none. pip takes hashes for all lines or for none, and what is not
            checked is not installed.
    """
    checked, without = [], []
    for line in lines:
        match = _VERSION.match(line)
        pin = (pinned_name(line) or line, match[1] if match else "")
        if pin not in known:
            without.append(pin[0])
        checked.append(" ".join([line, *(f"--hash={one}" for one in known.get(pin, ()))]))
    if without:
        raise SetupError(
            f"no hashes are known of {', '.join(without[:5])}, so that nothing that is installed "
            "could be checked",
            "python tools/lock_requirements.py --only-hashes writes them",
        )
    return checked


def index_settings(python: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return pip's settings of indexes, certificates and proxy as variables for uv.

    What the caller set for uv itself wins.

    Args:
        python: An interpreter with pip, which is asked for its settings.
        environ: The environment that they are read in.
    """
    done = subprocess.run(
        [python, "-E", "-s", "-m", "pip", "config", "list"],
        env=dict(environ), capture_output=True, text=True, check=False,
    )  # fmt: skip
    found: dict[str, str] = {}
    # Environment before the command's own section before the general one, as pip has it.
    for section in (":env:", "install", "global"):
        for line in done.stdout.splitlines():
            key, _, value = line.partition("=")
            if key.startswith(f"{section}."):
                variable = _SAME_IN_UV.get(key.removeprefix(f"{section}."))
                if variable is not None:
                    words = str(ast.literal_eval(value)).split()
                    found.setdefault(variable, " ".join(words))
    if "UV_FIND_LINKS" in found:
        found["UV_FIND_LINKS"] = found["UV_FIND_LINKS"].replace(" ", ",")
    return {name: value for name, value in found.items() if name not in environ}


def ensure_uv(layout: Layout, python: Path, environ: Mapping[str, str]) -> Path | None:
    """Return the uv to use, fetched where it is not there; None where it cannot be had.

    Args:
        layout: Where it goes.
        python: An interpreter with pip.
        environ: The environment that pip runs in.
    """
    folder = layout.state / f"uv-{UV}"
    uv = folder / "bin" / "uv"
    if uv.exists():
        return uv
    # Made under another name first: a folder that is there is whole.
    scratch = layout.state / "uv-unfinished"
    shutil.rmtree(scratch, ignore_errors=True)
    wanted = layout.state / "requirements-uv.txt"
    lines = with_hashes([f"uv=={UV}"], hashes(layout.requirements("run").parent))
    wanted.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [
        str(python), "-m", "pip", "install", "--no-input", "--disable-pip-version-check",
        "--no-deps", "--only-binary", ":all:", "--target", str(scratch),
        "--requirement", str(wanted),
    ]  # fmt: skip
    try:
        terminal.Job(
            command, title="installer (uv)", log=layout.log("uv"), environ=environ, expected=4
        ).wait()
    except SetupError as error:
        print(
            f"coterie: uv {UV} cannot be had ({error.problem}; {layout.log('uv')} tells why); "
            "pip installs instead, which takes some minutes longer",
            file=sys.stderr,
        )
        return None
    (scratch / "bin" / "uvx").unlink(missing_ok=True)
    scratch.rename(folder)
    return uv


def command(
    uv: Path | None, python: Path, file: Path, environ: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """Return the command that installs what ``file`` lists, and its environment."""
    if uv is None:
        return [
            str(python), "-m", "pip", "install", "--no-input", "--disable-pip-version-check",
            "--no-deps", "--requirement", str(file),
        ], dict(environ)  # fmt: skip
    settings = index_settings(python, environ)
    # As pip has it: of several indexes, the one that has the version.
    settings["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    return [
        str(uv), "pip", "install", "--python", str(python), "--no-deps", "--no-progress",
        "--requirement", str(file),
    ], {**environ, **settings}  # fmt: skip


def drop_damaged(site_packages: Path) -> list[str]:
    """Forget distributions whose installation was cut off, so that they are installed again.

    A distribution is whole if its RECORD is there and every file in it, with the size it should
    have, and if the installer has signed it, which it does last.

    Returns:
        Their names.
    """
    damaged = []
    for info in sorted(site_packages.glob("*.dist-info")):
        if not (info / "INSTALLER").is_file() or not _whole(info / "RECORD"):
            damaged.append(info.name.removesuffix(".dist-info").rpartition("-")[0])
            shutil.rmtree(info)
    return damaged


#: What the set-up itself changes after the installation, beside what it leaves out.
_OURS = re.compile(r"\.cmake$|\.pyc$|\.egg-info/")


def _whole(record: Path) -> bool:
    site = record.parents[1]
    try:
        with record.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error):
        return False
    for name, _, size in (row for row in rows if len(row) == 3):
        if _OURS.search(name) or LEFT_OUT.search(name):
            continue
        try:
            found = os.stat(site / name).st_size
        except OSError:
            return False
        if size and int(size) != found:
            return False
    return bool(rows)


class InstallProgress:
    """Turns the lines of uv and pip into what to show."""

    def __init__(self, total: int) -> None:
        self.total = total
        self._seen: set[str] = set()

    def __call__(self, line: str) -> str | None:
        """Return what to show for ``line``."""
        line = line.strip()
        match = re.match(r"(?:Collecting|Requirement already satisfied:) ([A-Za-z0-9_.-]+)", line)
        if match:
            self._seen.add(canonical(match[1]))
            return f"{min(len(self._seen), self.total)}/{self.total} {match[1]}"
        match = re.match(r"(Downloading|Downloaded|Building|Built) (\S+)", line)
        if match:
            return f"{match[1].lower()} {match[2]}"
        match = re.match(r"(?:Prepared|Resolved) (\d+) packages?", line)
        if match:
            return f"{match[1]} of {self.total} packages"
        if line.startswith("Installing collected packages"):
            return f"unpacking {line.count(',') + 1} packages"
        return None


def advise(output: str) -> list[str]:
    """Return what to do about a failed installation, judged by its output."""
    advice = []
    if re.search(r"No space left on device", output):
        advice.append("free some space, then run ./coterie setup again")
    elif re.search(
        r"NewConnectionError|Temporary failure in name resolution|ConnectTimeout|ReadTimeout"
        r"|ProxyError|SSLError|CERTIFICATE_VERIFY_FAILED|Network is unreachable|IncompleteRead"
        r"|error sending request|dns error|Failed to fetch|invalid peer certificate",
        output,
    ):
        advice.append(
            "the package index was not reached: check the network, HTTPS_PROXY, PIP_INDEX_URL"
        )
    elif re.search(
        r"Could not find a version|No matching distribution|No solution found|not found in the "
        r"package registry",
        output,
    ):
        advice.append(
            "the package index lacks a pinned version: a mirror (PIP_INDEX_URL) may be incomplete"
        )
    elif re.search(r"DO NOT MATCH THE HASHES|[Hh]ash mismatch", output):
        advice.append("a download was damaged: pip cache purge")
    advice.append("run ./coterie setup again: it goes on where it stopped")
    return advice
