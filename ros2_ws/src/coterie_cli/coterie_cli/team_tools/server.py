"""The server: which tools and resources an assistant has, and what each of them may do."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import Field

from coterie_bringup.abilities import silent
from coterie_bringup.errors import CommandError
from coterie_bringup.kept_runs import run_of
from coterie_cli.found_objects import checked_request
from coterie_cli.team_tools.link import SETTLE, TeamLink
from coterie_cli.team_tools.proposals import Proposals
from coterie_cli.team_tools.results import (
    NOTE,
    Answered,
    Found,
    Place,
    Proposed,
    Status,
    Told,
    Why,
    answered,
    fenced,
    found,
    map_of,
    why_of,
)
from coterie_core.questions import Question
from coterie_llm.fence import DATA_RULE, as_data, inline_data
from coterie_world.scene import SceneGraph
from coterie_world.scene.text import rooms_text

T = TypeVar("T")

LONGEST_WAIT = 300.0
"""Longest time that a tool may take [s]."""
LOOKS = ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)
ASKS_A_PERSON = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
)
ABOUT = (
    "A team of household robots: what they have seen, where things are, how they are. {may} "
    f"{DATA_RULE}"
)
READS = "These tools only read: no robot moves for them."
MAY_PROPOSE = (
    "These tools only read, but for propose_task: it asks a person, and only what the person "
    "allows is done. Never say that a proposed task is being done before its state is running."
)

Wait = Annotated[float, Field(ge=1.0, le=LONGEST_WAIT, description="Time to wait [s].")]
Words = Annotated[str, Field(min_length=1, max_length=600)]


def make_server(link: TeamLink, proposals: Proposals | None = None) -> MCPServer:
    """Return the server for a team.

    Args:
        link: The way to the team.
        proposals: Where tasks may be proposed; None: nobody may, and all only reads.
    """
    server: MCPServer[Any] = MCPServer(
        "coterie",
        title="Coterie: a team of household robots",
        instructions=ABOUT.format(may=MAY_PROPOSE if proposals is not None else READS),
        log_level="WARNING",
    )
    _add_tools(server, link)
    _add_resources(server, link)
    if proposals is not None:
        _add_proposals(server, link, proposals)
    return server


async def _tool(work: Awaitable[Told]) -> CallToolResult:
    """Return a tool's result, or its error in one line.

    Raises:
        ToolError: What was asked for cannot be had; says why.
    """
    try:
        return fenced(await work)
    except CommandError as error:
        raise ToolError(inline_data(str(error), limit=1000)) from None


async def ask_team(link: TeamLink, words: str, timeout: float) -> Answered:
    """Return the team's answer; no robot moves for it.

    Raises:
        CommandError: No team runs, or it does not answer.
    """
    node, _ = await link.open("ask")
    question = Question(f"ask-{uuid.uuid4().hex[:12]}", "", "", " ".join(words.split()))
    # A little longer than the node waits itself: its reason is the better one.
    asked = node.ask(question, timeout, explore=False)
    answer = await link.ask(asked, node, timeout + 5.0)
    if isinstance(answer, str):
        raise CommandError(f"the team could not answer: {answer}")
    scene = await link.ask(node.known_map(), node, SETTLE + 5.0)
    judgement = node.judgements.pop(question.id, None)
    return answered(question.text, answer, scene, judgement)


async def find_things(link: TeamLink, words: str, limit: int, timeout: float) -> Found:
    """Return what in the team's map fits a request.

    Raises:
        CommandError: No team runs, it has no object planner, or no map.
    """
    text = checked_request(words)
    node, _ = await link.open("find")
    told = await link.ask(node.find(text, limit, timeout), node, timeout + 5.0)
    if isinstance(told, str):
        raise CommandError(f"the team could not answer: {told}")
    scene = await link.ask(node.known_map(), node, SETTLE + 5.0)
    return found(text, told, scene)


async def place_of(link: TeamLink, thing: str, timeout: float) -> Place:
    """Return where a thing, or a robot of the team, is.

    Raises:
        CommandError: No team runs, or it does not answer.
    """
    node, state = await link.open()
    name = " ".join(thing.split())
    robots = {robot.lower(): robot for robot in node.robots}
    if name.lower() in robots:
        status = await link.ask(node.status(state), node, SETTLE + 5.0)
        robot = next(one for one in status.robots if one.name == robots[name.lower()])
        if robot.position is None:
            return Place(asked=name, robot=True, answer="nobody knows where it is", confidence=0.0)
        x, y, z = robot.position
        where = f"in {robot.room}, " if robot.room else ""
        heard = f"heard of {robot.silent_for:g} s ago" if robot.silent_for is not None else "silent"
        text = f"{where}at ({x:.1f}, {y:.1f}, {z:.1f}), {heard}"
        return Place(asked=name, robot=True, answer=text)
    told = await ask_team(link, f"Where is the {name.removeprefix('the ')}?", timeout)
    return Place(asked=name, answer=told.answer, confidence=told.confidence, things=told.things)


async def team_map(link: TeamLink) -> SceneGraph:
    """Return the team's map.

    Raises:
        CommandError: No team runs, or it has none.
    """
    node, state = await link.open("map")
    scene = await link.ask(node.known_map(), node, SETTLE + 5.0)
    if scene is None:
        raise CommandError(f"no map has come: {silent('map', state.who)}")
    return scene


async def team_status(link: TeamLink) -> Status:
    """Return how the team is.

    Raises:
        CommandError: No team runs.
    """
    node, state = await link.open()
    return await link.ask(node.status(state), node, SETTLE + 5.0)


async def why_so(link: TeamLink, what: str) -> Why:
    """Return why something happened in the run of the team that runs here.

    Raises:
        CommandError: No team runs on this computer, or nothing that is kept fits.
    """
    _, state = await link.open()
    run = run_of(state)
    if run is None:
        raise CommandError("decisions are kept where the team runs, and that is not here")
    return why_of(await asyncio.to_thread(run.explain, what))


def _add_tools(server: MCPServer[Any], link: TeamLink) -> None:
    @server.tool(annotations=LOOKS)
    async def ask(question: Words, wait: Wait = 120.0) -> Annotated[CallToolResult, Answered]:
        """Ask the team a question, such as "Is there a mug in the kitchen?". No robot moves."""
        return await _tool(ask_team(link, question, wait))

    @server.tool(annotations=LOOKS)
    async def find(
        request: Words,
        limit: Annotated[int, Field(ge=1, le=50, description="Most things.")] = 10,
        wait: Wait = 60.0,
    ) -> Annotated[CallToolResult, Found]:
        """Find the things of the team's map that a request calls for: "something to sit on"."""
        return await _tool(find_things(link, request, limit, wait))

    @server.tool(annotations=LOOKS)
    async def where_is(thing: Words, wait: Wait = 120.0) -> Annotated[CallToolResult, Place]:
        """Tell where a thing is, as the team's map has it, or where a robot of the team is."""
        return await _tool(place_of(link, thing, wait))

    @server.tool(annotations=LOOKS)
    async def why(
        what: Annotated[
            str,
            Field(
                max_length=600,
                description="last; an id or its beginning; a robot's name; or words of a task, a "
                "question, an answer, an action, a thing.",
            ),
        ] = "last",
    ) -> Annotated[CallToolResult, Why]:
        """Tell why something was answered, done or refused: the chain from words to motor."""
        return await _tool(why_so(link, what))


def _add_resources(server: MCPServer[Any], link: TeamLink) -> None:
    async def resource(work: Awaitable[T], shown: Callable[[T], str]) -> str:
        try:
            return shown(await work)
        except CommandError as error:
            raise ResourceError(inline_data(str(error), limit=1000)) from None

    def as_json(result: Told) -> str:
        return json.dumps(fenced(result).structured_content, indent=1)

    @server.resource("coterie://status", mime_type="application/json")
    async def status() -> str:
        """How the team is: its robots, what waits for a permit, what nodes complain about."""
        return await resource(team_status(link), as_json)

    @server.resource("coterie://map", mime_type="application/json")
    async def map_() -> str:
        """The team's map: rooms and the things in them, with their places [m]."""
        return await resource(team_map(link), lambda scene: as_json(map_of(scene)))

    @server.resource("coterie://map/text", mime_type="text/plain")
    async def map_text() -> str:
        """The team's map in words: a line for each room."""
        return await resource(
            team_map(link),
            lambda scene: f"{NOTE}\n{as_data('rooms', rooms_text(scene), limit=20_000)}",
        )


def _add_proposals(server: MCPServer[Any], link: TeamLink, proposals: Proposals) -> None:
    @server.tool(annotations=ASKS_A_PERSON)
    async def propose_task(
        task: Words,
        reason: Annotated[str, Field(max_length=200, description="What it is for.")] = "",
        max_time: Annotated[
            float, Field(ge=0.0, le=86400.0, description="Longest time [s]; 0: the team's own.")
        ] = 0.0,
    ) -> Annotated[CallToolResult, Proposed]:
        """Ask a person whether the team may do a task. Nothing is done before they allow it."""

        async def work() -> Proposed:
            await link.open("do")
            return proposals.propose(task, reason, max_time)

        return await _tool(work())

    @server.tool(annotations=LOOKS)
    async def proposed_task(
        id: Annotated[str, Field(description="Id that propose_task gave.")],
        wait: Annotated[
            float, Field(ge=0.0, le=60.0, description="Time to wait for news [s].")
        ] = 0.0,
    ) -> Annotated[CallToolResult, Proposed]:
        """Tell what became of a proposed task."""
        return await _tool(proposals.what_became(id, wait))
