"""Scene data sets: what a `.scene_dataset_config.json` lists, read when asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from habitat_bridge.habitat.data_files import (
    Refused,
    confined,
    objects_field,
    read_json,
    text_field,
)
from habitat_bridge.simulator import WorldError

SECTIONS = {
    "stages": ".stage_config.json",
    "objects": ".object_config.json",
    "articulated_objects": ".ao_config.json",
    "scene_instances": ".scene_instance.json",
    "semantic_scene_descriptor_instances": ".json",
}
# Both spellings stand for the template's own name.
_PLACEHOLDERS = ("%%CONFIG_NAME_AS_ASSET_FILENAME%%", "%%USE_FILENAME%%")
_MAPS = ("navmesh_instances", "semantic_scene_descriptor_instances")
_FILE_LIMIT = 200_000


@dataclass(slots=True)
class Template:
    """What a data set knows of a stage, object or scene: its name, file and merged attributes.

    File names in `attributes` are relative to `folder`.
    """

    name: str
    path: Path
    folder: Path
    attributes: dict[str, Any]


@dataclass(slots=True)
class _Section:
    defaults: dict[str, Any] = field(default_factory=dict)
    files: dict[str, list[Path]] = field(default_factory=dict)
    made: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    map: dict[str, str] = field(default_factory=dict)


class SceneDataset:
    """The templates of one data set. Configs are read when a template is asked for.

    `root` is the folder that everything must lie in: the parent of the config's folder, because
    public data sets point at their neighbours (`../objects/...`). `notes` collects what is odd.
    """

    def __init__(self, config: Path, data: dict[str, Any] | None = None) -> None:
        """Read the config (or take `data` for its content) and list the files that it names.

        Raises:
            WorldError: The config is missing, broken, or has a field of the wrong type.
        """
        self.config = Path(config).absolute()
        self.folder = self.config.parent
        self.root = self.folder.parent
        self.notes: list[str] = []
        self._listed = 0
        if data is None:
            data = read_json(self.config, "scene data set config")
        self._sections = {name: self._read_section(data, name) for name in SECTIONS}
        self._navmeshes = self._read_section(data, "navmesh_instances").map

    @classmethod
    def of_stage(cls, path: Path) -> SceneDataset:
        """Return a data set of one stage: a mesh or the stage config next to it if it has one."""
        own = path.with_name(_stem(path.name) + SECTIONS["stages"])
        if not path.name.endswith(SECTIONS["stages"]) and own.is_file():
            path = own
        suffix = ".json" if path.suffix == ".json" else path.suffix
        return cls(path, {"stages": {"paths": {suffix: [_escaped(path.name)]}}})

    def names(self, section: str) -> list[str]:
        """Return the names of all templates of a section, in order."""
        part = self._sections[section]
        return sorted({*part.files, *part.made})

    def find(self, section: str, wanted: str) -> Template | None:
        """Return a template by name (None: there is none of that name).

        Tried in this order: the name, the end of its path ("stages/102817200"), a piece of its
        path as habitat-sim does; of several the shortest, with a note.

        Raises:
            WorldError: The template's config is broken.
        """
        part = self._sections[section]
        key = _stem(wanted, SECTIONS[section])
        if key in part.made:
            return self._make(section, key)
        name = key.rsplit("/", 1)[-1]
        exact = part.files.get(name, [])
        if "/" in key:
            end = "/" + key.lstrip("./")
            exact = [path for path in exact if _stem(str(path)).endswith(end)] or exact
        found = exact or [
            path
            for paths in part.files.values()
            for path in paths
            if key and key in _stem(str(path.relative_to(self.root)))
        ]
        if not found:
            return None
        best = min(found, key=lambda path: (len(str(path)), str(path)))
        if len(found) > 1:
            self.notes.append(
                f"{section}: {wanted!r} fits {len(found)} templates; {best.name} is taken"
            )
        return self._load(section, best)

    def mapped(self, section: str, key: str) -> Path | None:
        """Return the file that an alias of `navmesh_instances` or of the descriptors stands for."""
        table = self._navmeshes if section == "navmesh_instances" else self._sections[section].map
        name = table.get(key)
        if name is None:
            return None
        try:
            return confined(self.root, self.folder, name)
        except Refused as error:
            self.notes.append(f"{self.config.name}: {section}.{key}: {error}")
            return None

    def _read_section(self, data: dict[str, Any], name: str) -> _Section:
        raw = data.get(name, {})
        part = _Section()
        try:
            if not isinstance(raw, dict):
                raise Refused(f"expected an object, got {type(raw).__name__}")
            defaults = raw.get("default_attributes", {})
            if not isinstance(defaults, dict):
                raise Refused(f"default_attributes: expected an object, got {defaults!r:.60}")
            part.defaults = defaults
            paths = raw.get("paths", {})
            groups = {".json": paths} if isinstance(paths, list) else paths
            if not isinstance(groups, dict):
                raise Refused(f"paths: expected an object of lists, got {paths!r:.60}")
            for suffix, patterns in groups.items():
                if not isinstance(patterns, list):
                    raise Refused(f"paths.{suffix}: expected a list, got {patterns!r:.60}")
                for pattern in patterns:
                    self._collect(part, name, suffix, pattern)
            for entry in objects_field(raw, "configs"):
                self._collect_config(part, name, entry)
            if name in _MAPS:
                part.map = {k: v for k, v in raw.items() if isinstance(v, str)}
        except Refused as error:
            raise WorldError(f"{self.config}: {name}: {error}; mend the file") from None
        return part

    def _collect(self, part: _Section, section: str, suffix: str, pattern: Any) -> None:
        if not isinstance(pattern, str):
            raise Refused(f"paths.{suffix}: expected names of folders, got {pattern!r:.60}")
        try:
            base = confined(self.root, self.folder, pattern)
        except Refused as error:
            self.notes.append(f"{self.config.name}: {section}.paths: {error}; left out")
            return
        wanted = SECTIONS.get(section, "") if suffix == ".json" else suffix
        matched = False
        for path in self._matches(base, wanted):
            matched = True
            self._listed += 1
            if self._listed > _FILE_LIMIT:
                raise Refused(f"paths: more than {_FILE_LIMIT} files; narrow the patterns")
            part.files.setdefault(_stem(path.name, wanted), []).append(path)
        if not matched:
            self.notes.append(f"{self.config.name}: {section}: nothing matches {pattern!r}")

    def _matches(self, base: Path, suffix: str) -> Iterator[Path]:
        """Files with this suffix that a pattern names, or that lie in the folders it names."""
        relative = base.relative_to(self.root)
        places = sorted(self.root.glob(str(relative))) if str(relative) != "." else [self.root]
        for place in places:
            if place.is_dir():
                yield from sorted(p for p in place.iterdir() if p.name.endswith(suffix))
            elif place.name.endswith(suffix):
                yield place
        # "name" may also stand for name.stage_config.json.
        if not places and base.with_name(base.name + suffix).is_file():
            yield base.with_name(base.name + suffix)

    def _collect_config(self, part: _Section, section: str, entry: Any) -> None:
        if not isinstance(entry, dict):
            raise Refused(f"configs: expected objects, got {entry!r:.60}")
        original = text_field(entry, "original_file")
        handle = text_field(entry, "template_handle") or _stem(original, SECTIONS[section])
        attributes = entry.get("attributes", {})
        if not isinstance(attributes, dict) or not handle:
            raise Refused("configs: expected template_handle or original_file, and attributes")
        part.made[_stem(handle, SECTIONS[section])] = (original, attributes)

    def _make(self, section: str, name: str) -> Template:
        """Build a template that the config itself describes, from an original file if any."""
        part = self._sections[section]
        original, extra = part.made[name]
        if not original:
            merged = part.defaults | extra
            return Template(name, self.config, self.folder, _substituted(merged, name))
        try:
            path = confined(self.root, self.folder, original)
        except Refused as error:
            raise WorldError(f"{self.config}: {section}.configs: {error}; mend the file") from None
        template = self._load(section, path)
        template.attributes |= _substituted(extra, name)
        template.name = name
        return template

    def _load(self, section: str, path: Path) -> Template:
        part = self._sections[section]
        name = _stem(path.name, SECTIONS[section])
        attributes: dict[str, Any] = dict(part.defaults)
        if path.name.endswith(".json"):
            attributes |= read_json(path, section.rstrip("s").replace("_", " "))
        elif path.suffix == ".urdf":
            attributes["urdf_filepath"] = path.name
        else:
            attributes["render_asset"] = path.name
        return Template(name, path, path.parent, _substituted(attributes, name))


def _substituted(attributes: dict[str, Any], name: str) -> dict[str, Any]:
    # habitat-sim's short name of a template ends at the first dot: "x" of "x.basis.glb".
    short = name.split(".", 1)[0]
    result = {}
    for key, value in attributes.items():
        if isinstance(value, str):
            for mark in _PLACEHOLDERS:
                value = value.replace(mark, short)
        result[key] = value
    return result


def _escaped(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def _stem(name: str, suffix: str = "") -> str:
    """Return a path without the endings that configs and assets have."""
    name = name.replace("\\", "/")
    for end in (suffix, *SECTIONS.values(), ".glb", ".gltf", ".urdf", ".ply", ".obj"):
        if end and name.endswith(end) and end != ".json":
            return name[: -len(end)]
    return name.removesuffix(".json")
