"""What a package imports it declares: in its package.xml, and with a version in requirements."""

import ast
import functools
import re
import sys
import xml.etree.ElementTree as Xml
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "ros2_ws" / "src"

# Import -> (name on PyPI, rosdep key; None: rosdep has none).
LIBRARIES: dict[str, tuple[str, str | None]] = {
    "PIL": ("pillow", "python3-pil"),
    "aiohttp": ("aiohttp", "python3-aiohttp"),
    "click": ("click", "python3-click"),
    "cv2": ("opencv-python-headless", None),
    "crowdkit": ("crowd-kit", None),
    "cryptography": ("cryptography", "python3-cryptography"),
    "httpx": ("httpx", None),
    "httpx2": ("httpx2", None),
    "joblib": ("joblib", "python3-joblib"),
    "lark": ("lark", "python3-lark-parser"),
    "matplotlib": ("matplotlib", "python3-matplotlib"),
    "mcap": ("mcap", None),
    "mpl_toolkits": ("matplotlib", "python3-matplotlib"),
    "msgpack": ("msgpack", "python3-msgpack"),
    "networkx": ("networkx", "python3-networkx"),
    "numpy": ("numpy", "python3-numpy"),
    "open3d": ("open3d-cpu", "python3-open3d-pip"),
    "openai": ("openai", "python3-openai-pip"),
    "pandas": ("pandas", "python3-pandas"),
    "psutil": ("psutil", "python3-psutil"),
    "pinocchio": ("pin", "pinocchio"),
    "py_trees": ("py-trees", "py_trees"),
    "pydantic": ("pydantic", "python3-pydantic"),
    "pydantic_core": ("pydantic", "python3-pydantic"),
    "rich": ("rich", "python3-rich"),
    "rosbags": ("rosbags", None),
    "scipy": ("scipy", "python3-scipy"),
    "shapely": ("shapely", "python3-shapely"),
    "skimage": ("scikit-image", "python3-skimage"),
    "sklearn": ("scikit-learn", "python3-sklearn"),
    "skops": ("skops", None),
    "spark_dsg": ("spark-dsg", None),
    "trimesh": ("trimesh", "python3-trimesh-pip"),
    "typer": ("typer", "python3-typer"),
    "unified_planning": ("unified-planning", None),
    "urdf_parser_py": ("urdf-parser-py", "urdfdom_py"),
    "viser": ("viser", None),
    "websockets": ("websockets", None),
    "xacro": ("xacro", "xacro"),
    "xgboost": ("xgboost-cpu", None),
    "yaml": ("pyyaml", "python3-yaml"),
    "zstandard": ("zstandard", None),
}
# Imported by the worker alone, which runs in an interpreter of its own.
WORKER_ONLY = {"habitat_sim", "magnum", "quaternion"}
WORKER = SOURCES / "habitat_bridge" / "habitat_bridge" / "habitat"
# Installed when asked for: import -> (file in requirements/, the folder that may import it).
ASKED_FOR = {
    **dict.fromkeys(
        ("safetensors", "tokenizers", "wordllama"),
        ("embeddings.txt", SOURCES / "coterie_llm" / "coterie_llm"),
    ),
    **dict.fromkeys(
        ("mcp", "starlette", "uvicorn"),
        ("mcp.txt", SOURCES / "coterie_cli" / "coterie_cli" / "team_tools"),
    ),
    "xllamacpp": ("local-model.txt", SOURCES / "coterie_llm" / "coterie_llm" / "local_model"),
    **dict.fromkeys(
        ("cv2", "onnx", "onnxruntime"),
        ("detector.txt", SOURCES / "coterie_perception" / "coterie_perception"),
    ),
    # Both tell how to set them up where they are missing.
    **dict.fromkeys(("crowdkit", "pandas"), ("research.txt", SOURCES / "cam_aggregator")),
    **dict.fromkeys(("viser", "websockets"), ("research.txt", SOURCES / "coterie_console")),
}
# Installed by nobody here: users who want them install them, and are told how.
_PERCEPTION = SOURCES / "coterie_perception" / "coterie_perception"
USERS_OWN = dict.fromkeys(("torch", "transformers"), _PERCEPTION)
# Modules of helpers for tests may import what tests do.
TEST_ONLY = {"pytest": "python3-pytest"}
# In a ROS installation and not among the wheels of requirements/ros.txt.
MORE_ROS = {
    "launch", "launch_ros", "tf2_msgs", "tf2_ros", "vision_msgs", "nav2_msgs", "ament_cmake",
    "rosidl_default_generators", "rosidl_default_runtime", "ament_index_python",
}  # fmt: skip
# Declared for other reasons than an import.
# trimesh reads COLLADA with pycollada.
NOT_IMPORTED = {
    "python3-pytest", "python3-pydantic", "python3-collada", "rosidl_default_runtime",
}  # fmt: skip


def packages() -> dict[str, Path]:
    """Return name -> folder of every package of the workspace."""
    found = {}
    for file in sorted(SOURCES.rglob("package.xml")):
        name = Xml.parse(file).getroot().findtext("name")
        assert name, f"{file}: no name"
        found[name] = file.parent
    return found


PACKAGES = packages()
PYTHON = [name for name, folder in PACKAGES.items() if (folder / name / "__init__.py").is_file()]
LATE = {"coterie_console", "coterie_bringup"}


def declared(folder: Path) -> set[str]:
    """Return all keys of a package.xml, of whatever kind of dependency."""
    root = Xml.parse(folder / "package.xml").getroot()
    return {(e.text or "").strip() for e in root if e.tag.endswith("depend")}


def pinned(name: str) -> set[str]:
    """Return the distributions named in a file of requirements/, in lower case."""
    lines = (ROOT / "requirements" / name).read_text("utf-8").splitlines()
    names = (re.match(r"[A-Za-z0-9_.-]+", line) for line in lines)
    return {match.group().lower().replace("_", "-") for match in names if match}


def ros_names() -> set[str]:
    """Return the ROS packages that are known: those of the wheels, and `MORE_ROS`."""
    return {n.removeprefix("ros-").replace("-", "_") for n in pinned("ros.txt")} | MORE_ROS


@functools.cache
def imported(file: Path) -> frozenset[str]:
    """Return the top-level modules that a file imports, without the standard library."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"), str(file))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
    return frozenset(found - sys.stdlib_module_names)


def imports(folder: Path) -> dict[str, Path]:
    """Return top-level module -> a file that imports it, without the standard library."""
    found: dict[str, Path] = {}
    for file in sorted(folder.rglob("*.py")):
        for top in imported(file):
            found.setdefault(top, file.relative_to(ROOT))
    return found


@pytest.mark.parametrize("name", PYTHON)
def test_every_import_is_declared(name):
    folder = PACKAGES[name]
    keys, versions, ros = declared(folder), pinned("run.txt"), ros_names()
    problems = []
    for module, file in imports(folder / name).items():
        if module == name:
            continue
        if module in PACKAGES or module in ros:
            if module not in keys:
                problems.append(f"{file} imports {module}: add it to {name}/package.xml")
        elif module in TEST_ONLY:
            if TEST_ONLY[module] not in keys:
                problems.append(f"{file} imports {module}: declare {TEST_ONLY[module]}")
        elif module in WORKER_ONLY:
            if WORKER not in (ROOT / file).parents:
                problems.append(f"{file} imports {module}: only the worker may")
        elif module in USERS_OWN:
            if USERS_OWN[module] not in (ROOT / file).parents:
                problems.append(f"{file} imports {module}: only {USERS_OWN[module].name} may")
        elif module in ASKED_FOR:
            group, where = ASKED_FOR[module]
            name_there = LIBRARIES.get(module, (module, None))[0]
            if name_there not in pinned(group) or where not in (ROOT / file).parents:
                problems.append(f"{file} imports {module}: pin it in {group}, import it in {where}")
        elif module not in LIBRARIES:
            problems.append(f"{file} imports {module}: name its distribution in LIBRARIES here")
        else:
            distribution, key = LIBRARIES[module]
            if distribution not in versions:
                problems.append(f"{file} imports {module}: pin {distribution} in run.txt")
            if key is not None and key not in keys:
                problems.append(f"{file} imports {module}: add {key} to {name}/package.xml")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("name", PACKAGES)
def test_nothing_unknown_or_unused_is_declared(name):
    folder = PACKAGES[name]
    by_key = {key: module for module, (_, key) in LIBRARIES.items() if key}
    known = PACKAGES.keys() | ros_names() | by_key.keys() | NOT_IMPORTED
    unknown = declared(folder) - known
    assert not unknown, f"{name}/package.xml: unknown keys {sorted(unknown)}; misspelt?"
    if name not in PYTHON:
        return
    used = imports(folder)
    unused = {
        key
        for key in declared(folder) & by_key.keys()
        if not any(m in used for m, (_, k) in LIBRARIES.items() if k == key)
    }
    assert not unused, f"{name}/package.xml: {sorted(unused)} are declared and never imported"


FOUNDATION = (
    "coterie_core", "coterie_llm", "coterie_world", "coterie_safety", "coterie_requests",
    "coterie_execution", "coterie_recordings",
)  # fmt: skip
LAYERS = (
    *({name} for name in FOUNDATION),
    {"coterie_ros"},
    set(PYTHON) - {*FOUNDATION, "coterie_ros", *LATE, "coterie", "coterie_cli"},
    LATE,
    {"coterie"},
    {"coterie_cli"},
)


@pytest.mark.parametrize("name", PYTHON)
def test_imports_point_one_way(name):
    """To earlier layers only; console and bringup are of one layer, features apart."""
    (layer,) = (n for n, names in enumerate(LAYERS) if name in names)
    allowed = {name}.union(*LAYERS[:layer])
    if name in LATE:
        allowed |= LATE - {"coterie_bringup"}
    used = imports(PACKAGES[name] / name).keys() & set(PYTHON)
    assert used <= allowed, f"{name} imports {sorted(used - allowed)}"
    if name != "coterie_cli":
        assert "coterie_cli" not in imports(PACKAGES[name]), f"a test of {name} imports coterie_cli"


def test_the_product_and_its_tests_import_nothing_of_the_studies():
    places = (*PACKAGES.values(), *(ROOT / name for name in ("tools", "launch", "tests")))
    found = [imports(folder).get("research") for folder in (*places, ROOT / "benchmarks")]
    assert not [str(file) for file in found if file]


def test_what_the_studies_import_is_pinned():
    studies = ROOT / "research"
    known = set(PACKAGES) | ros_names() | {"research", "coterie_fixtures"}
    versions = pinned("run.txt") | pinned("research.txt")
    scripts = {
        file.stem for folder in ("perf", "tests") for file in (studies / folder).glob("*.py")
    }
    scripts |= {file.stem for file in (ROOT / "benchmarks").glob("*.py")}
    optional = {"ray", "torch", "onnx"}  # where somebody has them
    for_tests = pinned("test.txt") | {"bootstrap", "docs_site"} | optional
    problems = [
        f"{file} imports {module}: pin it in research.txt"
        for module, file in imports(studies).items()
        if module not in known | scripts
        and LIBRARIES.get(module, (module, None))[0] not in versions
        and module not in for_tests
    ]
    assert not problems, "\n".join(problems)


def test_the_product_does_not_pin_what_only_the_studies_import():
    product = {module for name in PYTHON for module in imports(PACKAGES[name] / name)}
    needless = [
        module
        for module, (distribution, _) in LIBRARIES.items()
        if distribution in pinned("run.txt") and module not in product
    ]
    assert not [one for one in needless if one in imports(ROOT / "research")]


def test_this_test_notices_what_is_missing(tmp_path):
    (tmp_path / "x.py").write_text("import numpy.linalg\nfrom os import path\nimport nowhere\n")
    global ROOT
    before, ROOT = ROOT, tmp_path
    try:
        assert set(imports(tmp_path)) == {"numpy", "nowhere"}
    finally:
        ROOT = before
