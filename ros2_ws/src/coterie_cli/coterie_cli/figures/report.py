"""The one-page report of a demonstration: a self-contained HTML file, readable from file://."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

from coterie_cli.demo.results import AskedQuestion, DemoRecord, GivenAnswer
from coterie_cli.figures.house_plans import (
    ROBOT_COLOURS,
    TreeNode,
    coverage_curve,
    floor_plans,
    tree_picture,
)
from coterie_world.scene import SceneGraph


def write_report(
    record: DemoRecord, scene: SceneGraph, file: Path, *, tree: TreeNode | None = None
) -> None:
    """Write the report.

    Args:
        record: What happened.
        scene: The truth about the house, for the floor plans.
        file: Where to.
        tree: The decision tree to draw, if there is one.
    """
    import jinja2

    template = resources.files("coterie_cli").joinpath("data/report.html.j2").read_text("utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    half = (len(record.questions) + 1) // 2
    rows = [_question_row(q, [t.robot for t in record.tracks]) for q in record.questions]
    page = environment.from_string(template).render(
        record=record,
        tiles=_tiles(record),
        plans=floor_plans(scene, record.tracks),
        curve=coverage_curve(record.tracks, record.team_coverage),
        robots=_robots(record),
        scores=_scores(record),
        tree=tree_picture(tree) if tree is not None else "",
        tree_note=(
            "CAM's decision tree on object, room and the robots' answers, top levels only. Objects "
            "and rooms are numbered by the alphabet, so that “≤ lamp” means “up to lamp”; each "
            "box says how many training questions reach it and how many of them were YES."
        ),
        importances=_importances(record),
        importance_note=(
            "CAM+: percentage points of accuracy lost when this input is shuffled over the "
            "questions, mean ± std of 20 shuffles."
        ),
        usage=_usage(record),
        timings=[(name, f"{seconds:.1f} s") for name, seconds in record.timings.items()],
        names=[t.robot for t in record.tracks],
        who=[part for part in (rows[:half], rows[half:]) if part],
    )
    temporary = file.with_suffix(".tmp")
    temporary.write_text(page, encoding="utf-8")
    temporary.replace(file)


def percent(share: float | None, digits: int = 0) -> str:
    """Return a share (0..1) as percentage; a dash for None."""
    return "–" if share is None else f"{100.0 * share:.{digits}f} %"


def _tiles(record: DemoRecord) -> list[dict[str, str]]:
    by_name = {s.method: s for s in record.scores}
    tiles = []
    if record.live_accuracy is not None:
        what = f"of the team's answers were right ({title(record, record.live_method)})"
        tiles.append({"value": percent(record.live_accuracy), "what": what})
    vote = by_name.get("majority_vote")
    if vote is not None:
        tiles.append({"value": percent(vote.held_out), "what": "with a plain majority vote"})
    if record.tracks:
        seen = record.team_coverage[-1] if record.team_coverage else 0.0
        tiles.append({"value": percent(seen), "what": "of the house seen by the robots together"})
        hops = sum(t.steps for t in record.tracks)
        tiles.append({"value": str(hops), "what": f"hops of {len(record.tracks)} robots"})
    asked = f"questions, after {record.trained_on} to learn from"
    tiles.append({"value": str(len(record.questions)), "what": asked})
    if "in all" in record.timings:
        tiles.append({"value": f"{record.timings['in all']:.0f} s", "what": "from start to report"})
    return tiles


def title(record: DemoRecord, method: str) -> str:
    """Return a method's name for people."""
    return next((s.title for s in record.scores if s.method == method), method.replace("_", " "))


def _robots(record: DemoRecord) -> list[dict[str, Any]]:
    return [
        {
            "robot": t.robot,
            "embodiment": t.embodiment,
            "malicious": t.malicious,
            "colour": k % ROBOT_COLOURS,
            "steps": t.steps,
            "seen": percent(t.coverage),
            "rooms": t.rooms,
            "objects": t.objects,
            "way": f"{t.distance:.0f} m",
            "outcome": t.outcome,
        }
        for k, t in enumerate(record.tracks)
    ]


def _scores(record: DemoRecord) -> list[dict[str, Any]]:
    rows = []
    for s in record.scores:
        random = percent(s.random_mean)
        if s.random_mean is not None and s.random_std is not None:
            random = f"{100 * s.random_mean:.0f} ± {100 * s.random_std:.0f} %"
        rows.append(
            {
                "title": s.title,
                "live": s.method == record.live_method,
                "held_out": percent(s.held_out),
                "width": round(100 * (s.held_out or 0.0)),
                "random": random,
                "note": s.note,
            }
        )
    return rows


def _importances(record: DemoRecord) -> list[dict[str, Any]]:
    shown = sorted(record.importances, key=lambda i: -i.mean)[:12]
    top = max((i.mean for i in shown), default=0.0) or 1.0
    return [
        {
            "feature": i.feature,
            "width": max(0, round(100 * i.mean / top)),
            "text": f"{100 * i.mean:.1f} ± {100 * i.std:.1f}",
        }
        for i in shown
    ]


def _usage(record: DemoRecord) -> list[dict[str, str]]:
    return [
        {
            "who": str(u.get("who", "")),
            "by": str(u.get("by", "rules")),
            "by_model": str(u.get("by_model", 0)),
            "by_rule": str(u.get("by_rule", 0)),
            "tokens": str(u.get("tokens", 0)),
            "cost": f"{float(u.get('cost', 0.0)):.4f}",
        }
        for u in record.usage
    ]


def _question_row(question: AskedQuestion, robots: list[str]) -> dict[str, Any]:
    cells = [_cell(question.answers.get(r), question.truth) for r in robots]
    if not question.final_given:
        cells.append({"css": "mute", "word": "–", "sure": "", "why": "no final answer"})
    elif question.final is None:
        cells.append({"css": "mute", "word": "?", "sure": "", "why": "the team abstains"})
    else:
        final = GivenAnswer(question.final, question.final_confidence, "")
        cells.append(_cell(final, question.truth))
    room = question.room or "the house"
    words = f"{question.object}, {room}"
    return {
        "object": question.object,
        "room": room,
        "short": words if len(words) <= 38 else words[:37] + "…",
        "truth": "yes" if question.truth else "no",
        "cells": cells,
    }


def _cell(answer: GivenAnswer | None, truth: bool) -> dict[str, str]:
    if answer is None:
        return {"css": "mute", "word": "–", "sure": "", "why": "no answer"}
    return {
        "css": "ok" if answer.yes == truth else "no",
        "word": "yes" if answer.yes else "no",
        "sure": f"{100 * answer.confidence:.0f}",
        "why": answer.explanation or answer.evidence,
    }
