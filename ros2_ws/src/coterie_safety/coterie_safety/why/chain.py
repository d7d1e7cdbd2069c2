"""The chain from words to motor: what led to something, step by step, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from pathlib import Path

from coterie_safety.ledger import Entry
from coterie_safety.why.explanation import Explanation, NothingKept
from coterie_safety.why.finding import Target, find
from coterie_safety.why.reading import Story, read_story
from coterie_safety.why.record import Record
from coterie_safety.why.steps import Steps
from coterie_safety.why.things import known_things
from coterie_safety.why.words import (
    entry_words,
    line,
    sentence,
)

MAX_ACTIONS = 12
"""Actions that are told one by one; of more, the first and the last."""
SHARED_GOAL_WINDOW_S = 10.0
"""Time within which robots are given a goal that they share [s]."""
_MAX_ANCESTORS = 40


def explain(
    what: str, folder: Path, log: Path | None = None, memory: Path | None = None
) -> Explanation:
    """Explain what is meant by `what`: see `finding.find`, and `things.known_things`.

    Args:
        what: "" or `last`, the beginning of an id, a robot's name, or words.
        folder: Folder of the journal.
        log: Folder of the log of goals; None: none.
        memory: Folder of the copies of the team's memory; None: none.

    Raises:
        NothingKept: Nothing that is kept fits.
        OSError: A file cannot be read.
    """
    story = read_story(folder, log)
    things = known_things(what, memory) if memory is not None else []
    try:
        told = explain_target(find(what, story), story)
    except NothingKept:
        if not things:
            raise
        return Explanation(f"what is known of {line(what, 60)}", tuple(things))
    return replace(told, steps=(*told.steps, *things))


def explain_target(target: Target, story: Story) -> Explanation:
    """Explain one thing of a story that was read."""
    chain = _Chain(story)
    if target.kind == "task":
        title = chain.task(target.id)
    elif target.kind == "question":
        title = chain.question(target.id)
    elif target.kind == "sub_task":
        title = chain.sub_task(target.task, target.id, target.robot)
    elif target.kind == "shares":
        title = chain.shares(target.task, target.sub_tasks, target.robot)
    elif target.kind == "entry" and target.entry is not None:
        title = chain.entry(target.entry)
    else:
        record = story.get(target.id)
        assert record is not None
        title = chain.record(record)
    return chain.told(title)


class _Chain(Steps):
    # -- upwards --------------------------------------------------------------------------------

    def lead_up(self, record: Record) -> None:
        """Add what led to a record, from the words on."""
        found: list[tuple[Record, str]] = []
        now, seen = record, {record.id}
        for _ in range(_MAX_ANCESTORS):
            before = self._before(now)
            if before is None or before[0].id in seen:
                self._beyond(now)
                break
            seen.add(before[0].id)
            found.append(before)
            now = before[0]
        for one, sub_task in reversed(found):
            if one.kind == "assignment":
                self.assignment(one, sub_task, "")
            else:
                self.add(one)

    def _beyond(self, record: Record) -> None:
        """Say so where a chain begins with a goal whose sender kept nothing."""
        of = record.of
        if of.goal and not (of.task or of.question or self.story.get(of.goal)):
            self.gap(
                f"who sent the goal {of.goal[:10]}: a command or a program that keeps no records"
            )

    def _before(self, record: Record) -> tuple[Record, str] | None:
        """Return what a record follows from, and of an assignment the sub-task that it is about."""
        story, of = self.story, record.of
        begun = record.kind == "action" and not of.because
        if of.sub_task and (begun or record.kind == "decision"):
            given = self._given(of.task, of.sub_task, record.who, record.at)
            if given is not None:
                return given, of.sub_task
        if of.because and record.kind != "decision":
            before = story.get(of.because)
            if before is not None:
                return before, ""
            self.missing(f"the step before {record.id[:10]}")
        if record.kind == "assignment":
            split = self._decision(of.task, "emos.split_task", record.at)
            if split is not None:
                return split, ""
        if of.sub_task:
            given = self._given(of.task, of.sub_task, record.who, record.at)
            if given is not None:
                return given, of.sub_task
        if of.task and record.kind != "task":
            task = self._first(of.task, "task")
            if task is not None:
                return task, ""
            self.missing(f"the task {line(of.task, 60)} in words")
        if of.question and record.kind != "question":
            asked = self._asked(of.question)
            if asked is not None:
                return asked, ""
        if of.goal and of.goal != record.id:
            sent = story.get(of.goal)
            if sent is not None:
                return sent, ""
        return None

    def _given(self, task: str, sub_task: str, who: str, at: str) -> Record | None:
        latest: Record | None = None
        for record in self.story.of_kind("assignment"):
            if record.of.task != task or record.at > at:
                continue
            if not any(
                (o.get("id"), o.get("robot")) == (sub_task, who) for o in self.parts(record)
            ):
                continue
            latest = latest or record
            against = record.body.get("why_not")
            if isinstance(against, Mapping) and sub_task in against:
                return record  # where it was given out; later ones only repeat it
        if latest is not None:
            return latest
        self.missing(f"how {line(sub_task, 60)} was given to {line(who, 60)}")
        return None

    def _first(self, task: str, kind: str) -> Record | None:
        return next((r for r in self.story.records if r.kind == kind and r.of.task == task), None)

    def _asked(self, question: str) -> Record | None:
        found = (r for r in self.story.records if r.kind == "question")
        return next((record for record in found if record.of.question == question), None)

    def _decision(self, task: str, name: str, at: str) -> Record | None:
        for record in self.story.of_kind("decision"):
            if record.of.task == task and record.body.get("name") == name and record.at <= at:
                return record
        return None

    # -- whole things ---------------------------------------------------------------------------

    def task(self, task: str) -> str:
        """Add a task from its words to its end; return a title."""
        begin = self._first(task, "task")
        tasks = self._shared(begin) if begin is not None else {task}
        of_task = [record for record in self.story.records if record.of.task in tasks]
        if begin is None:
            self.missing(f"the task {line(task, 60)} in words")
        else:
            self.lead_up(begin)
            self.add(begin, asked=True)
        for record in of_task:
            if record.kind == "decision" and record.who == "leader":
                self.add(record)
        before: dict[str, str] = {}
        for record in of_task:
            said = record.kind == "turn" and record.body.get("turn")
            if said in ("reject", "silent", "problem") or record.kind in ("judged", "read"):
                evidence = record.body.get("evidence")
                self.add(record, map(line, evidence) if isinstance(evidence, list) else ())
            if record.kind == "assignment":
                given = {str(o.get("id")): str(o.get("robot", "")) for o in self.parts(record)}
                if given != before:
                    self.assignment(record, "", "", changed=before)
                before = given
        self._work_of(of_task)
        for record in of_task:
            if record.kind == "outcome":
                self.add(record)
        if not any(record.kind == "outcome" for record in of_task):
            self.gap("no end of the task is kept: it goes on, or who led it died")
        words = begin.body.get("words", "") if begin is not None else task
        return f'the task "{line(words)}"'

    def _shared(self, begin: Record) -> set[str]:
        """Return the ids that robots gave to the goal that a task is, if they share it."""
        begun = datetime.fromisoformat(begin.at)

        def together(other: Record) -> bool:
            apart = abs((datetime.fromisoformat(other.at) - begun).total_seconds())
            return other.body == begin.body and apart < SHARED_GOAL_WINDOW_S

        shared = bool(begin.body.get("robots"))
        others = filter(together, self.story.of_kind("task")) if shared else ()
        return {begin.of.task, *(other.of.task for other in others)}

    def _work_of(self, records: list[Record]) -> None:
        """Add how many actions each sub-task took, and its last one's id."""
        actions: dict[tuple[str, str], list[Record]] = {}
        for record in records:
            if record.kind == "action":
                actions.setdefault((record.of.sub_task, record.who), []).append(record)
        for (sub_task, who), done in actions.items():
            if not sub_task:
                self._plans_of(who, done)
                continue
            last = done[-1]
            many = f"{len(done)} action{'s' * (len(done) != 1)}"
            words = line(last.body.get("words", ""))
            text = f"{who} worked on {line(sub_task, 60)}, {many}; the last: {words}"
            self.add(last, text=text)

    def _plans_of(self, who: str, actions: list[Record]) -> None:
        """Add what a robot that gives itself its work planned, one after the other."""
        plans = [list(one) for _, one in groupby(actions, lambda record: record.body.get("plan"))]
        first, left = MAX_ACTIONS // 2, max(0, len(plans) - MAX_ACTIONS)
        del plans[first : first + left]
        for k, done in enumerate(plans):
            many = f"{len(done)} action{'s' * (len(done) != 1)}"
            before = f"{left} more plans, then " if left and k == first else ""
            plan = line(done[0].body.get("plan", ""))
            ids = {action.id for action in done}
            # What was not tried was not sent: its end follows from the action itself.
            refused = [r for r in self.story.of_kind("ended") if r.of.because in ids]
            cause = line(refused[-1].body.get("message", "")) if refused else ""
            end = f"; not tried: {cause}" if refused else ""
            self.add(done[0], text=f"{before}{who} planned: {plan}; {many}{end}")

    def _end_of(self, action: Record) -> str:
        effect = action.body.get("effect")
        if effect in ("done", "give up"):
            return "it took the sub-task for done" if effect == "done" else "it gave it back"
        sent = self._sent_for(action)
        ends = [r for r in self.story.of_kind("ended") if sent and r.of.because == sent.id]
        return sentence(ends[0]) if ends else "its end is not kept"

    def _sent_for(self, action: Record) -> Record | None:
        found = (r for r in self.story.records if r.kind == "sent")
        return next((record for record in found if record.of.because == action.id), None)

    def sub_task(self, task: str, sub_task: str, robot: str) -> str:
        """Add why a sub-task is, who got it and who did not, and what was done; return a title."""
        of_task = [record for record in self.story.records if record.of.task == task]
        given = [
            record
            for record in of_task
            if record.kind == "assignment"
            and any(one.get("id") == sub_task for one in self.parts(record))
        ]
        what, holders = "", []
        for record in given:
            for one in self.parts(record):
                if one.get("id") == sub_task:
                    what = str(one.get("what", "")) or what
                    holders.append(str(one.get("robot", "")))
        if given:
            self.lead_up(given[0])
        else:
            self.missing(f"how {line(sub_task, 60)} was given out")
        for record in of_task:
            if record.kind == "turn" and sub_task in (record.body.get("refused") or ()):
                self.add(record, asked=record.who == robot)
        previous = None
        for record, holder in zip(given, holders, strict=False):
            if holder != previous:
                self.assignment(record, sub_task, robot)
            previous = holder
        if robot and robot not in holders:
            self._say_why_not(given, sub_task, robot)
        actions = [r for r in of_task if r.kind == "action" and r.of.sub_task == sub_task]
        shown = actions
        if len(actions) > MAX_ACTIONS:
            shown = actions[: MAX_ACTIONS // 2] + actions[-MAX_ACTIONS // 2 :]
            self.gap(f"{len(actions) - len(shown)} more actions in between are not shown")
        for record in shown:
            self.add(record, [self._end_of(record)])
        for record in of_task:
            if record.kind == "outcome":
                self.add(record)
        named = f"{line(sub_task, 60)} ({line(what)})" if what else line(sub_task, 60)
        if robot and robot not in holders:
            return f"why {line(robot, 60)} did not get {named}"
        return f"the sub-task {named}"

    def shares(self, task: str, sub_tasks: Sequence[str], robot: str) -> str:
        """Add which of some sub-tasks a robot got, and why not the others; return a title."""
        given = [r for r in self.story.records if r.kind == "assignment" and r.of.task == task]
        self.lead_up(given[0])
        told: dict[str, str] = {}
        for record in given:
            lines = []
            against = record.body.get("why_not")
            for one in self.parts(record):
                id_, who = str(one.get("id", "")), str(one.get("robot", ""))
                if id_ not in sub_tasks or told.get(id_) == who:
                    continue
                told[id_] = who
                named = (
                    f"{line(id_, 60)} ({line(one.get('what', ''))}): {line(who, 60) or 'nobody'}"
                )
                reasons = against.get(id_) if isinstance(against, Mapping) else None
                why = reasons.get(robot) if isinstance(reasons, Mapping) else None
                if who == robot:
                    lines.append(named)
                else:
                    lines += [named, f"  not {line(robot, 60)}: {line(why or 'no reason is kept')}"]
            if lines:
                self.add(record, lines)
        return f"what {line(robot, 60)} got of these sub-tasks, and what not"

    def _say_why_not(self, given: list[Record], sub_task: str, robot: str) -> None:
        for record in reversed(given):
            against = record.body.get("why_not")
            reasons = against.get(sub_task) if isinstance(against, Mapping) else None
            why = reasons.get(robot) if isinstance(reasons, Mapping) else None
            if why:
                step = self.steps.get(record.id)
                if step is not None and not any(line(why) in text for text in step.details):
                    self.assignment(record, sub_task, robot)
                return
        self.gap(f"nothing is kept of why {line(robot, 60)} did not get it")

    def question(self, question: str) -> str:
        """Add a question from its words to the answer; return a title."""
        records = [record for record in self.story.records if record.of.question == question]
        asked = self._asked(question)
        if asked is None:
            self.missing(f"the question {line(question, 60)} in words")
        else:
            self.lead_up(asked)
            self.add(asked, asked=True)
        for record in records:
            if record.kind in ("decision", "judged"):
                self.add(record)
            elif record.kind == "sent":
                self._motor(record)
        answers = [record for record in records if record.kind == "answer"]
        for record in answers:
            self.add(record)
        if not answers:
            self.gap("no answer is kept: the team still thinks, or gave none")
        words = asked.body.get("words", "") if asked is not None else question
        return f'the question "{line(words)}"'

    def record(self, record: Record) -> str:
        """Add what led to a record, itself, and what came of it; return a title."""
        if record.kind == "assignment" and record.of.task:
            self.lead_up(record)
            self.assignment(record, "", "")
            return "an assignment"
        if record.kind == "ended" and record.of.because:
            sent = self.story.get(record.of.because)
            if sent is not None:
                return self.record(sent)
        self.lead_up(record)
        self.add(record, self._alternatives(record), asked=True)
        if record.kind == "sent":
            self._motor(record)
            goal = next((one for one in self.story.log_of(record.id) if one.kind == "goal"), None)
            return entry_words(goal) if goal is not None else sentence(record)
        for other in self.story.records:
            if other.of.because == record.id and other.kind in ("action", "sent", "ended"):
                self.add(other)
                for sent in [other] if other.kind == "sent" else self._all_sent(other):
                    self._motor(sent)
        return sentence(record)

    def _all_sent(self, action: Record) -> list[Record]:
        found = [r for r in self.story.records if r.kind == "sent" and r.of.because == action.id]
        for record in found:
            self.add(record)
        return found

    def _motor(self, sent: Record) -> None:
        """Add what the motors' side logged of a goal, and how it ended."""
        self.add(sent)
        logged = self.story.log_of(sent.id)
        for entry in logged:
            self.add_entry(entry)
        ended = [r for r in self.story.of_kind("ended") if r.of.because == sent.id]
        for record in ended[:1]:
            self.add(record)
        if not ended and not self._waits(logged):
            self.gap("the end of the goal is not kept: it still runs, or its sender died")
        if not logged and sent.body.get("physical"):
            self.missing("what the log of goals says of it")

    def _waits(self, logged: Sequence[Entry]) -> bool:
        """Say so where the last that is logged of a goal is that a person was asked."""
        waits = bool(logged) and logged[-1].kind == "request"
        if waits:
            self.gap("what a person answers; the goal waits for it")
        return waits

    def _alternatives(self, record: Record) -> list[str]:
        """Return what a decision could have been instead."""
        options = record.body.get("options")
        if not isinstance(options, Mapping):
            return []
        return [f"it could choose {line(k, 60)} from: {line(v, 400)}" for k, v in options.items()]

    def entry(self, entry: Entry) -> str:
        """Add an entry of the log with the goal that it is of; return a title."""
        action = entry.body.get("action")
        sent = self.story.get(action) if isinstance(action, str) and action else None
        if sent is not None:
            self.lead_up(sent)
            self._motor(sent)
            return entry_words(entry)
        digest = entry.body.get("goal")
        same = self.story.log_of(str(action)) if action else [
            one for one in self.story.entries if digest and one.body.get("goal") == digest
        ]  # fmt: skip
        for one in same or [entry]:
            self.add_entry(one, asked=one.seq == entry.seq)
        self._waits(same)
        why = next((str(one.body["why"]) for one in same if one.body.get("why")), "")
        if why:
            self.gap(f'its sender says that it is for "{line(why)}", and kept no record of why')
        else:
            self.missing("who sent the goal, and why")
        return entry_words(entry)
