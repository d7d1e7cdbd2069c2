"""Resumes kept on disk: sampling an arm takes a second, reading what it found does not."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from pydantic import ValidationError

from coterie_core import resume_text
from coterie_core.files import write_atomically
from coterie_core.resume import Resume
from robot_resume.builder import SAMPLES, resume_of
from robot_resume.overrides import load_overrides
from robot_resume.verbalize import with_words


def stored_resume(
    urdf: Path,
    *,
    name: str | None = None,
    overrides: Path | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
    folder: Path | None = None,
) -> Resume:
    """Return the resume of a URDF, from disk if it was made before with the same files and code.

    Args:
        urdf: The file.
        name: Name of the robot; default: the URDF's.
        overrides: YAML file with what the URDF does not say.
        samples: Postures to sample per arm.
        seed: Of the sampling.
        folder: Where resumes are kept; default: the user's cache.

    Raises:
        OSError: A file cannot be read.
        UrdfError: The URDF cannot be used.
    """
    text = urdf.read_bytes()
    told = overrides.read_bytes() if overrides is not None else b""
    digest = hashlib.sha256(_code())
    for part in (str(urdf.resolve()).encode(), text, told, f"{samples} {seed}".encode()):
        digest.update(hashlib.sha256(part).digest())
    folder = folder or cache_folder()
    file = folder / f"{digest.hexdigest()[:32]}.json"
    try:
        found = Resume.from_json(file.read_bytes())
    except (OSError, ValidationError):
        given = load_overrides(overrides) if overrides is not None else None
        found = with_words(resume_of(urdf, overrides=given, samples=samples, seed=seed))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_atomically(file, found.to_json())
        except OSError:
            pass  # a cache that cannot be written only costs time
    return found if name is None else found.model_copy(update={"robot": name})


def cache_folder() -> Path:
    """Return where resumes are kept: below XDG_CACHE_HOME, or ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "coterie" / "resumes"


def _code() -> bytes:
    digest = hashlib.sha256()
    core = Path(resume_text.__file__).parent
    folders = (Path(__file__).parent, core / "kinematics", core / "urdf")
    files = [file for folder in folders for file in sorted(folder.glob("*.py"))]
    for file in (*files, Path(resume_text.__file__)):
        digest.update(file.read_bytes())
    return digest.digest()
