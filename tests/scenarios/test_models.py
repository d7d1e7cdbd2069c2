"""Robots led by a model over HTTP: one that answers, and one whose endpoint breaks half-way."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from coterie_core.questions import Question
from coterie_fixtures.endpoint import Endpoint, server_error

pytestmark = [pytest.mark.ros, pytest.mark.slow, pytest.mark.timeout(900)]

TEAM = """\
name: thinkers
world: {{kind: embedded, seed: 6, floors: 1, rooms: 6}}
seed: 5
models:
  local:
    kind: openai
    base_url: {url}
    model: test-model
    timeout_s: 10
    max_retries: 0
robots:
  - {{name: rover, embodiment: wheels, model: local}}
  - {{name: walker, embodiment: legs}}
aggregator: {{method: majority_vote, deadline: 20.0}}
"""


def obliging(request: dict[str, Any]) -> Any:
    """A model that takes the first place it is offered and says yes to every question."""
    fields = str(request.get("response_format"))
    prompt = "\n".join(str(m["content"]) for m in request["messages"])
    if "'place'" in fields:
        return {"place": re.findall(r"\bp\d+\b", prompt)[-1], "reason": "why not"}
    return {"answer": "yes", "confidence": 0.75, "reason": "the model says so"}


async def test_a_model_leads_until_its_endpoint_breaks(
    ros_domain: int, running_team: Callable[..., Any]
) -> None:
    from coterie_msgs.action import Explore

    with Endpoint(obliging) as endpoint:
        async with running_team(TEAM.format(url=endpoint.url), ros_domain) as running:
            operator = running.operator
            goal = Explore.Goal(max_steps=3)
            result = await running.loop(operator.explore("rover", goal, lambda f: None))
            assert result.success and result.steps == 3, result.reason
            hops = len(endpoint.received)
            assert hops >= 3
            operator.ask_all([Question("works", "chair", "kitchen", "")], deadline=20.0)
            await running.finals(["works"])
            by_model = operator.answers["rover"]["works"]
            assert by_model.decided_by == "model" and by_model.yes
            assert by_model.explanation == "the model says so"
            assert operator.answers["walker"]["works"].decided_by == "rule"
            endpoint.fail(*(server_error(500) for _ in range(50)))
            operator.ask_all([Question("broken", "mug", "kitchen", "")], deadline=20.0)
            await running.finals(["broken"])
            by_rule = operator.answers["rover"]["broken"]
            assert by_rule.decided_by == "rule"
            assert "500" in by_rule.reason
            assert operator.finals["broken"].missing == ()
