"""Usage of models per robot and per decision: calls, latency, tokens and cost."""

from __future__ import annotations

import asyncio
import collections
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from coterie_llm.decision import Decided
from coterie_llm.errors import LanguageError
from coterie_llm.types import LanguageModel, ModelRequest, Reply, Usage, Wrapper

# Latencies kept per row for the quantiles; memory stays bounded however long a team runs.
_KEPT_LATENCIES = 512


@dataclass
class MeterRow:
    """Counts of one robot's one decision.

    Attributes:
        calls: Calls made to the model.
        failures: Failed calls by kind of error.
        usage: Tokens and cost of all calls.
        seconds: Time spent in all calls [s].
        latencies_s: The latest calls' durations [s].
        by_model: Decisions that the model made.
        by_rule: Decisions that the rule made.
        asked_again: Decisions that took a second question.
        at_once: Decisions that the model made with its first reply.
        overruled: Decisions that the rule made after the model had been asked.
        tool_uses: Look-ups of the model.
        asked: Calls by name of the model.
        decided: Decisions by name of the model that made them.
    """

    calls: int = 0
    failures: collections.Counter[str] = field(default_factory=collections.Counter)
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    latencies_s: collections.deque[float] = field(
        default_factory=lambda: collections.deque(maxlen=_KEPT_LATENCIES)
    )
    by_model: int = 0
    by_rule: int = 0
    asked_again: int = 0
    at_once: int = 0
    overruled: int = 0
    tool_uses: int = 0
    asked: collections.Counter[str] = field(default_factory=collections.Counter)
    decided: collections.Counter[str] = field(default_factory=collections.Counter)

    def latency_s(self, quantile: float) -> float:
        """Quantile of the latest calls' durations [s]; 0 without calls."""
        if not self.latencies_s:
            return 0.0
        ordered = sorted(self.latencies_s)
        return ordered[min(len(ordered) - 1, int(quantile * len(ordered)))]

    def as_json(self) -> dict[str, Any]:
        """The row as plain data."""
        return {
            "calls": self.calls,
            "failures": dict(sorted(self.failures.items())),
            "prompt_tokens": self.usage.prompt_tokens,
            "completion_tokens": self.usage.completion_tokens,
            "cost": self.usage.cost,
            "estimated": self.usage.estimated,
            "seconds": round(self.seconds, 6),
            "latency_p50_s": round(self.latency_s(0.5), 6),
            "latency_p95_s": round(self.latency_s(0.95), 6),
            "by_model": self.by_model,
            "by_rule": self.by_rule,
            "asked_again": self.asked_again,
            "at_once": self.at_once,
            "overruled": self.overruled,
            "tool_uses": self.tool_uses,
            "asked": dict(sorted(self.asked.items())),
            "decided": dict(sorted(self.decided.items())),
        }


class UsageMeter:
    """Counts calls and decisions of a team. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[tuple[str, str], MeterRow] = {}

    def count_call(
        self,
        who: str,
        decision: str,
        *,
        usage: Usage,
        seconds: float,
        failure: str = "",
        model: str = "",
    ) -> None:
        """Count one call to a model; `failure` names the kind of error, if any."""
        with self._lock:
            row = self._rows.setdefault((who, decision), MeterRow())
            row.calls += 1
            row.usage = row.usage + usage
            row.seconds += seconds
            row.latencies_s.append(seconds)
            row.asked[model] += 1
            if failure:
                row.failures[failure] += 1

    def watch(self, who: str) -> Callable[[str, Decided[Any]], None]:
        """A callback for `Decider(on_decided=...)` that counts who decided."""

        def count(decision: str, decided: Decided[Any]) -> None:
            with self._lock:
                row = self._rows.setdefault((who, decision), MeterRow())
                if decided.decided_by == "model":
                    row.by_model += 1
                    row.at_once += decided.attempts == 1
                    row.decided[decided.model] += 1
                else:
                    row.by_rule += 1
                    row.overruled += decided.attempts > 0
                row.tool_uses += len(decided.tool_uses)
                if decided.attempts > 1:
                    row.asked_again += 1

        return count

    def row(self, who: str, decision: str) -> MeterRow:
        """Counts of one robot's one decision (zeros when it was never made)."""
        with self._lock:
            return self._rows.get((who, decision), MeterRow())

    def total(self, who: str | None = None) -> Usage:
        """Tokens and cost of one robot, or of all."""
        with self._lock:
            rows = [row.usage for (name, _), row in self._rows.items() if who in (None, name)]
        return sum(rows, Usage())

    def as_json(self) -> list[dict[str, Any]]:
        """All rows as plain data, sorted by robot and decision."""
        with self._lock:
            return [
                {"who": who, "decision": decision, **row.as_json()}
                for (who, decision), row in sorted(self._rows.items())
            ]

    def to_json(self) -> str:
        """All rows as JSON text."""
        return json.dumps(self.as_json(), indent=2)

    def table(self) -> str:
        """All rows as a text table; `~` marks token counts that are in part estimated."""
        head = (
            "who decision calls failed tokens-in tokens-out cost p50-s p95-s "
            "model at-once again overruled rule look-ups"
        )
        lines = [head.split()]
        for row in self.as_json():
            mark = "~" if row["estimated"] else ""
            lines.append(
                [
                    row["who"] or "-",
                    row["decision"] or "-",
                    str(row["calls"]),
                    str(sum(row["failures"].values())),
                    f"{mark}{row['prompt_tokens']}",
                    f"{mark}{row['completion_tokens']}",
                    f"{row['cost']:.4f}",
                    f"{row['latency_p50_s']:.2f}",
                    f"{row['latency_p95_s']:.2f}",
                    str(row["by_model"]),
                    str(row["at_once"]),
                    str(row["asked_again"]),
                    str(row["overruled"]),
                    str(row["by_rule"]),
                    str(row["tool_uses"]),
                ]
            )
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if i < 2 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        )


class Metered(Wrapper):
    """Counts every call in a meter, under the robot and decision that its tags name."""

    def __init__(self, inner: LanguageModel, meter: UsageMeter) -> None:
        super().__init__(inner)
        self._meter = meter

    async def complete(self, request: ModelRequest) -> Reply:
        """Answer the request and count it.

        Raises:
            LanguageError: The inner model's.
        """
        started = time.monotonic()
        usage, failure = Usage(), "cancelled"
        try:
            reply = await self.inner.complete(request)
            usage, failure = reply.usage, ""
            return reply
        except LanguageError as error:
            usage, failure = error.usage, type(error).__name__
            raise
        except asyncio.CancelledError:
            raise
        except Exception as error:
            failure = type(error).__name__
            raise
        finally:
            self._meter.count_call(
                request.tags.get("who", ""),
                request.tags.get("decision", ""),
                usage=usage,
                seconds=time.monotonic() - started,
                failure=failure,
                model=self.inner.name,
            )
