"""The build of coterie_msgs reads things once; it generates what rosidl generates alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GENERATE = ROOT / "ros2_ws" / "src" / "coterie_msgs" / "cmake" / "generate.py"
INTERFACES = (
    "action/NavigateTo.idl", "msg/RequestJudgement.idl", "msg/SkillResult.idl",
    "srv/QueryObjects.idl", "srv/SaveMap.idl",
)  # fmt: skip
TYPES = "rosidl_generator_type_description"
GENERATORS = {
    TYPES: [],
    "rosidl_generator_c": [],
    "rosidl_typesupport_c": ["--typesupports", "rosidl_typesupport_fastrtps_c"],
    "rosidl_typesupport_fastrtps_c": [],
    "rosidl_typesupport_introspection_c": [],
    "rosidl_generator_py": ["--typesupport-impls", "rosidl_typesupport_c"],
}


def prefix_of(package: str) -> Path:
    for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        if (Path(prefix) / "share" / package).is_dir():
            return Path(prefix)
    pytest.skip(f"{package} is not installed here")


def generated(folder: Path, *first: str | Path) -> dict[str, bytes]:
    """Run all generators as the build does; return what they write."""
    interfaces = prefix_of("coterie_msgs") / "share" / "coterie_msgs"
    ours = {name: (folder / TYPES / name).with_suffix(".json") for name in INTERFACES}
    for generator, more in GENERATORS.items():
        prefix = prefix_of(generator)
        arguments = folder / f"{generator}__arguments.json"
        arguments.parent.mkdir(exist_ok=True)
        arguments.write_text(
            json.dumps(
                {
                    "package_name": "coterie_msgs",
                    "output_dir": str(folder / generator),
                    "template_dir": str(prefix / "share" / generator / "resource"),
                    "idl_tuples": [f"{interfaces}:{name}" for name in INTERFACES],
                    "include_paths": [
                        f"{name}:{prefix_of(name) / 'share' / name}"
                        for name in (
                            "action_msgs", "builtin_interfaces", "geometry_msgs", "service_msgs",
                            "std_msgs", "unique_identifier_msgs",
                        )
                    ],
                    "type_description_tuples": [f"{name}:{file}" for name, file in ours.items()],
                    "ros_interface_dependencies": [],
                    "target_dependencies": [str(interfaces / name) for name in INTERFACES],
                }
            )
        )  # fmt: skip
        program = prefix / "lib" / generator / generator
        subprocess.run(
            [sys.executable, *first, program, "--generator-arguments-file", arguments, *more],
            env={**os.environ, "PYTHONHASHSEED": "0"},  # rosidl writes some sets as they come
            check=True,
        )
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for generator in GENERATORS
        for file in sorted((folder / generator).rglob("*.*"))
        if file.is_file()
    }


@pytest.mark.slow
def test_the_same_files_and_type_hashes(tmp_path: Path) -> None:
    alone = generated(tmp_path / "alone")
    # The first generator parses, the others find what it left.
    ours = generated(tmp_path / "ours", GENERATE)
    assert ours.keys() == alone.keys()
    assert [name for name in ours if ours[name] != alone[name]] == []
    assert len(alone) > 40
    installed = prefix_of("coterie_msgs") / "share" / "coterie_msgs"
    for name in INTERFACES:
        there = json.loads((installed / name).with_suffix(".json").read_text())
        here = json.loads(alone[f"{TYPES}/{name.replace('.idl', '.json')}"])
        assert here["type_hashes"] == there["type_hashes"]


def test_a_generator_that_fails_fails_the_build(tmp_path: Path) -> None:
    broken = tmp_path / "msg" / "Odd.idl"
    broken.parent.mkdir()
    broken.write_text("module coterie_msgs { module msg { struct Odd {")
    arguments = tmp_path / "arguments.json"
    arguments.write_text(json.dumps({"idl_tuples": [f"{tmp_path}:msg/Odd.idl"]}))
    program = prefix_of(TYPES) / "lib" / TYPES / TYPES
    done = subprocess.run(
        [sys.executable, GENERATE, program, "--generator-arguments-file", arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "Unexpected" in done.stderr
