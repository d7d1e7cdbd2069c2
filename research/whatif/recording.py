"""`./coterie whatif --recording FILE`: a recorded task decided once more, without a model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console
from rich.markup import escape

from coterie_bringup.errors import CommandError
from coterie_cli.record_live import CASSETTE, DECISIONS_TOPIC, PARAMETERS
from coterie_llm import tracing
from coterie_recordings.bag_files import McapFile
from coterie_recordings.types import RecordingError
from coterie_requests.read_request import ReadRequest
from coterie_safety.why.words import line, reply_words
from research.whatif.rerun.kept import CannotReplay, KeptNodes, from_json, kept_nodes
from research.whatif.rerun.tasks import TaskAgain, TaskEnd

_SERVED = ("base_url", "api_key_env", "record_to", "larger", "file", "threads", "context")
"""Fields of a profile that are for models that are asked."""

_BEFOREHAND = frozenset({ReadRequest.name})
"""Decisions about a person's words, before the leader begins: no part of what is done again."""


@dataclass(frozen=True, slots=True)
class Made:
    """A decision: by whom, which, and what was decided."""

    who: str
    name: str
    reply: Mapping[str, Any]

    @property
    def same(self) -> tuple[str, str]:
        """What two decisions have to have in common; the words of a reason do not count."""
        reply = {key: value for key, value in self.reply.items() if key != "reason"}
        return self.name, json.dumps(reply, sort_keys=True)


@dataclass(frozen=True, slots=True)
class Difference:
    """Where somebody decided otherwise first: the number of the decision, as it was, as it is."""

    who: str
    number: int
    before: Made | None
    after: Made | None

    def in_words(self) -> str:
        """Return it in a line; its texts are data."""

        def told(one: Made | None) -> str:
            return f"{one.name}: {reply_words(one.reply)}" if one is not None else "no decision"

        was, now = line(told(self.before), 300), line(told(self.after), 300)
        return f"{line(self.who, 40)}, decision {self.number}: was {was}; is {now}"


@dataclass(frozen=True, slots=True)
class Compared:
    """A task decided once more.

    Attributes:
        words: The task.
        before: How many decisions there were.
        after: How many there are.
        differences: The first one of everybody who decided otherwise.
        end: How the task ends.
    """

    words: str
    before: int
    after: int
    differences: tuple[Difference, ...]
    end: TaskEnd


def decide_again(file: McapFile) -> Compared:
    """Have the first task of a recording decided once more, in lockstep, without any model.

    Raises:
        CommandError: No task is in it, or it cannot be had again exactly; says why.
    """
    records = [
        json.loads(found.data)
        for found in file.scan(None)
        if found.topic == DECISIONS_TOPIC and found.encoding == "json"
    ]
    records.sort(key=lambda record: str(record.get("at", "")))
    task = next((one for one in records if one.get("kind") == "task"), None)
    if task is None:
        raise CannotReplay(
            f"{file.path}: no task is in it: record while the team does one (./coterie do)"
        )
    id_, words = task["of"]["task"], str(task["body"].get("words", ""))
    end = next((r["at"] for r in records
                if r.get("kind") == "outcome" and r["of"]["task"] == id_), "~")  # fmt: skip
    before = [
        Made(one["who"], str(one["body"].get("name", "")), one["body"].get("reply") or {})
        for one in records
        if one.get("kind") == "decision"
        and task["at"] <= one["at"] <= end
        and one["body"].get("name") not in _BEFOREHAND
    ]
    if PARAMETERS not in file.attachments:
        raise CannotReplay(f"{file.path}: the parameters of the run are not in it")
    after: list[Made] = []

    def heard(trace: tracing.DecisionTrace) -> str:
        reply = trace.decided.reply.model_dump(mode="json")
        if trace.name not in _BEFOREHAND:
            after.append(Made(trace.who, trace.name, reply))
        return ""

    with TemporaryDirectory(prefix="coterie-replay-") as folder:
        nodes = _nodes(file, Path(folder))
        tracing.listen(heard)
        try:
            ended = TaskAgain(nodes).run(words)
        finally:
            tracing.listen(None)
    return Compared(words, len(before), len(after), differences(before, after), ended)


def differences(before: list[Made], after: list[Made]) -> tuple[Difference, ...]:
    """Return the first decision of everybody that came out otherwise; each in its own order."""
    found = []
    for who in dict.fromkeys(one.who for one in (*before, *after)):
        was, now = ([one for one in made if one.who == who] for made in (before, after))
        for k in range(max(len(was), len(now))):
            one = was[k] if k < len(was) else None
            other = now[k] if k < len(now) else None
            if one is None or other is None or one.same != other.same:
                found.append(Difference(who, k + 1, one, other))
                break
    return tuple(found)


def _nodes(file: McapFile, folder: Path) -> KeptNodes:
    """Return the run's nodes, whose models are the recording's cassettes."""
    (folder / PARAMETERS).write_bytes(file.attachments[PARAMETERS])
    nodes = {}
    for name, parameters in kept_nodes(folder).nodes.items():
        profile = from_json(parameters, "model_profile")
        if isinstance(profile, dict) and profile.get("kind", "rules") != "rules":
            own = json.dumps(_of_cassette(profile, file, folder))
            nodes[name] = {**parameters, "model_profile": own}
        else:
            nodes[name] = dict(parameters)
    return KeptNodes(nodes)


def _of_cassette(profile: Mapping[str, Any], file: McapFile, folder: Path) -> dict[str, Any]:
    """Return a profile that asks no model, with the cassette of the recording.

    Raises:
        CannotReplay: There is none.
    """
    where = str(profile.get("cassette") or profile.get("record_to") or "")
    data = file.attachments.get(CASSETTE + where)
    if not where or data is None:
        raise CannotReplay(
            f"{file.path}: a model took part, and what it replied is not in it: give its profile "
            "`record_to: FILE`, and record anew"
        )
    cassette = folder / f"{len(list(folder.iterdir()))}.jsonl"
    cassette.write_bytes(data)
    kept = {key: value for key, value in profile.items() if key not in _SERVED}
    return {**kept, "kind": "replay", "cassette": str(cassette), "on_miss": "rule"}


def show(told: Compared) -> list[str]:
    """Return what came of it, in lines."""
    lines = [
        f'"{line(told.words)}": {told.before} decisions then, {told.after} now; it ends '
        f"{told.end.state}, {told.end.achieved} of {told.end.wanted}: {line(told.end.message, 300)}"
    ]
    lines += [one.in_words() for one in told.differences]
    return lines if told.differences else [*lines, "every decision came out as it was"]


def recording_again(path: Path, out: Console) -> int:
    """Have a recorded task decided once more and show what differs; return 1 where it does.

    Raises:
        CommandError: It is no recording, no task is in it, or it cannot be had again exactly.
    """
    try:
        told = decide_again(McapFile(path))
    except RecordingError as error:
        raise CommandError(str(error)) from None
    out.print("\n".join(map(escape, show(told))))
    return 1 if told.differences else 0
