"""Open questions node: answers from the team's map, and sends a robot to look where it must."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from coterie_core.conformal import DENIAL_LEVEL, load_conformal
from coterie_core.geometry import Vec3
from coterie_core.observation import Observation
from coterie_core.questions import OpenAnswer
from coterie_core.skills import NavigateTo, SkillResult
from coterie_core.waiting import in_time
from coterie_msgs.action import AskTeam
from coterie_msgs.msg import Observation as ObservationMsg
from coterie_msgs.msg import SemanticMap, TeamMessage
from coterie_recordings import Recording, RecordingError, open_recording
from coterie_requests.ask_back import (
    Judgement,
    Person,
    RequestState,
    Settled,
    not_understood,
    settle,
    without,
)
from coterie_requests.ask_back.rule import LEFT_OUT
from coterie_requests.detector_vocabulary import DetectorVocabulary
from coterie_requests.lexicon import meant
from coterie_requests.request import Thing
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.asking import ROOMS_PARAMETER, node_person
from coterie_ros.conversions.judgement import judgement_to_msg
from coterie_ros.main import ProcessOptions, run_nodes
from coterie_ros.model import (
    EMBEDDER_PARAMETER,
    MODEL_PARAMETER,
    node_decider,
    node_meanings,
)
from coterie_ros.observations import Observations
from coterie_ros.parameters import Parameters, ParameterSpec, specs_of
from coterie_ros.pictures import PictureClient, PictureServer, Wanted, WantedThing
from coterie_ros.serving import GoalContext
from coterie_ros.skill_client import SkillClient
from coterie_ros.stopping import STOPPED, RobotStopped, StopWatch
from coterie_ros.team_memory import MEMORY_PARAMETERS, MemoryKeeper
from coterie_safety.why import belong, note
from coterie_world.coverage import Coverage, PlacesSeen
from coterie_world.object_events import ObjectEvent
from coterie_world.right_of_way import RightOfWay
from coterie_world.scene import SceneGraph, SceneObject
from coterie_world.team_memory import TeamMemory
from openeqa_agent.agents import MAX_QUESTION_CHARS, AgentOptions, OpenAgent, read_frames
from openeqa_agent.answerable import answers_all_the_same
from openeqa_agent.explore import ExplorerOptions
from openeqa_agent.kept_pictures import eyes_needed
from openeqa_agent.labels import room_said
from openeqa_agent.looking import Hop, Walk, go_and_look
from openeqa_agent.reply import OpenReply
from openeqa_agent.settings import OpenQuestionsSettings
from openeqa_agent.things import MapIndex
from openeqa_agent.understood import OpenQuestion, question_of

PARAMETERS = (
    *specs_of(OpenQuestionsSettings),
    MODEL_PARAMETER,
    EMBEDDER_PARAMETER,
    ParameterSpec("vision", False, "The model is shown images."),
    ParameterSpec(
        "recording",
        "",
        "Folder or file of recorded frames to answer from; empty: no recording.",
    ),
    ParameterSpec(
        "frame", "map", "Coordinate frame of the map; maps in another frame are refused."
    ),
    ParameterSpec(
        "robot", "", "Name of the robot that goes to look for answers; empty: none goes."
    ),
    ParameterSpec(
        "radius", 0.25, "Radius of that robot's footprint.", "m", minimum=0.05, maximum=2.0
    ),
    ParameterSpec(
        "explorer",
        "question",
        "Choice of the robot's next viewpoint: where the answer is likely, or at a frontier.",
        choices=("question", "frontier"),
    ),
    ParameterSpec(
        "sure", 0.5, "Confidence below which the robot goes to look.", minimum=0.0, maximum=1.0
    ),
    ParameterSpec(
        "abstain_below",
        0.0,
        "Confidence below which an answer is withheld; 0: none is.",
        minimum=0.0,
        maximum=1.0,
    ),
    ParameterSpec(
        "map_wait",
        3.0,
        "Time to wait for the map to show what the robot has just seen.",
        "s",
        minimum=0.0,
        maximum=120.0,
    ),
    ParameterSpec(
        "robot_wait",
        5.0,
        "Time to wait for the robot to accept a navigation goal.",
        "s",
        minimum=0.1,
        maximum=120.0,
    ),
    ParameterSpec(
        "hop_timeout",
        300.0,
        "Time limit of one navigation goal, in wall time.",
        "s",
        minimum=1.0,
        maximum=3600.0,
    ),
    ParameterSpec(
        "detector_vocabulary",
        [],
        "Labels that the detector can report; empty: they are not known.",
    ),
    ROOMS_PARAMETER,
    ParameterSpec("seed", 0, "Seed of random choices; no method makes any so far."),
    *MEMORY_PARAMETERS,
)


_KINDS = frozenset({"is_there", "where", "which_room", "how_many"})
_PATH_POINTS = 500
STOPPING = 2.0
"""How long a question that is cancelled waits for its robot to stand still [s]."""


def moved_since(question: OpenQuestion, team: TeamMemory) -> str:
    """Return who brought such a thing from where to where; empty where nobody did.

    Only for questions about where things are. A question about one room is about what left it.
    """
    thing = question.things[0] if question.things else Thing()
    name, room = meant(thing.name), room_said(thing)
    if not question.acts <= _KINDS or not name:
        return ""
    known = team.graph.room_named(room) if room else None
    if room and known is None:
        return ""
    trace = team.left(name, known.id if known is not None else "")
    return team.words(trace) if trace is not None and not trace.gone else ""


class OpenNode(AgentNode):
    """`open_questions`: the action `ask_open` on the latest `semantic_map`; docs/openeqa.md."""

    PARAMETERS = PARAMETERS

    def on_setup(self, parameters: Parameters) -> None:
        """Make the model, open the recording, offer the action."""
        decider = node_decider(self, parameters.json("model_profile"), "open_questions")
        self.agent = OpenAgent(
            decider,
            parameters["method"],
            AgentOptions(
                vision=parameters["vision"], meanings=node_meanings(parameters.json("embedder"))
            ),
            DetectorVocabulary.of(parameters["detector_vocabulary"]),
        )
        self._seen = PlacesSeen()
        self._person = node_person(self)
        self._kept: PictureClient | None = None
        self.recording: Recording | None = None
        if parameters["recording"]:
            try:
                self.recording = open_recording(parameters["recording"])
            except RecordingError as error:
                raise ValueError(f"parameter 'recording': {error}") from None
        self.robot = parameters["robot"].strip("/")
        self.keeper = MemoryKeeper(self, "open_questions", self._on_event)
        self._scene: SceneGraph | None = None
        self._maps = 0
        self._mapped = asyncio.Event()
        name = self.robot.rpartition("/")[2]
        self._observed = Observations(name, f"{self.robot}/observation", self.problem)
        self._walking = asyncio.Lock()
        self._navigate = SkillClient(self, f"{self.robot}/", arm=False) if self.robot else None
        if self.robot:
            self._aside = RightOfWay(name)
            self._messages = self.publisher(TeamMessage, f"{self.robot}/message", "messages")
        self.serve_action(AskTeam, "ask_open", self._on_ask)

    def on_start(self) -> None:
        """Listen to the map, to what robots do to objects, to the robot that goes to look."""
        self.keeper.begin(map_topic="")
        self.subscribe(
            SemanticMap,
            "semantic_map",
            "latched",
            self._on_map,
            convert=conversions.scene_from_msg,
        )
        if self.recording is not None:
            self._pictures = PictureServer(self, self._show_frames)
        elif self.parameters["vision"]:
            self._kept = PictureClient(self)
        if self.robot:
            self._stop_watch = StopWatch(self, f"{self.robot}/{STOPPED}")
            self.subscribe(
                ObservationMsg,
                f"{self.robot}/observation",
                "observations",
                self._on_observation,
                convert=conversions.observation_from_msg,
            )

    async def _show_frames(self, wanted: Wanted) -> None:
        """Show frames of the recording that an answer has named."""
        if self.recording is None or not wanted.frames:
            return
        frames, _ = await read_frames(self.recording, self.agent.options.frames)
        for one in frames:
            if one.name in wanted.frames and one.frame.color is not None:
                number = wanted.frames.index(one.name)
                self._pictures.show(wanted, "frame", number, one.frame.color)

    # -- what is known ---------------------------------------------------------------------------

    def _on_map(self, scene: SceneGraph) -> None:
        frame = self.parameters["frame"]
        if scene.frame != frame:
            self.problem(
                f"semantic_map: a map in frame {scene.frame!r} is not taken, positions of frame "
                f"{frame!r} are expected; set parameter 'frame', or transform the map"
            )
            return
        self.keeper.memory.adopt(scene)
        self._scene = self.keeper.memory.scene()
        self._maps += 1
        self._mapped.set()
        self._mapped.clear()

    def _on_event(self, event: ObjectEvent) -> None:
        """What robots moved is where they put it, whatever an older map says."""
        if self._scene is not None:
            self._scene = self.keeper.memory.scene()

    def on_release(self) -> None:
        """Keep the memory for the next start."""
        self.keeper.save()

    def _on_observation(self, observation: Observation) -> None:
        if self._observed.take(observation):
            self._seen.observe(observation)

    async def observation(self, after: Observation | None) -> Observation | None:
        """Return an observation newer than `after`, or the latest one, after a while."""
        await self._observed.after(after, placed=True)
        return self._observed.latest

    async def scene(self) -> SceneGraph | None:
        """Return the map once it is newer than this call, or after `map_wait`."""
        before, end = self._maps, asyncio.get_running_loop().time() + self.parameters["map_wait"]
        while self._maps == before:
            left = end - asyncio.get_running_loop().time()
            if left <= 0.0 or not await _within(self._mapped, left):
                break
        return self._scene

    async def go(self, skill: NavigateTo) -> SkillResult:
        """Send the robot to a place; a robot that does not answer gives a FAULT.

        Raises:
            RobotStopped: A person has stopped it.
        """
        return await self._stop_watch.carried_out(lambda: self._go(skill))

    async def _go(self, skill: NavigateTo) -> SkillResult:
        assert self._navigate is not None
        return await self._navigate.run(
            skill,
            "to answer a question",
            accept_timeout=self.parameters["robot_wait"],
            attempts=2,
            timeout=self.parameters["hop_timeout"],
            stopping=STOPPING,
        )

    def ask_way(self, way: Sequence[Vec3]) -> None:
        """Ask other robots for a way that one of them blocks, points in the map frame [m]."""
        seen = self._observed.latest
        start = way[0] if seen is None else seen.pose.position
        request = self._aside.request((start, *way[1:]), self.parameters["radius"], self.now())
        self._messages.publish(conversions.yield_request_to_msg(request, self.now()))

    # -- answering -------------------------------------------------------------------------------

    async def _on_ask(self, goal: GoalContext) -> AskTeam.Result:
        """Answer a question; one that is cancelled stops the robot that looks for the answer."""
        result = await self._answered(goal)
        result.is_open = True
        return goal.succeed(result) if result.success else goal.abort(result)

    async def _answered(self, goal: GoalContext) -> AskTeam.Result:
        request = goal.request
        text = " ".join(request.question.text[: 100 * MAX_QUESTION_CHARS].split())
        if not text or len(text) > MAX_QUESTION_CHARS:
            return AskTeam.Result(
                message=f"question.text: expected 1 to {MAX_QUESTION_CHARS} characters, "
                f'got {len(text)}; for example "What color is the sofa?"'
            )
        belong(question=request.question.id)
        note("question", "open_questions", {"words": text})
        goal.feedback(AskTeam.Feedback(stage=AskTeam.Feedback.THINKING))
        try:
            said = conversions.request_from_msg(request.question, "ask_open")
        except ValueError as error:
            return AskTeam.Result(message=str(error))
        question = await self.agent.read(text, self._scene, said)
        problem = question.problem
        if self.agent.decider.rule_only and problem and problem.kind not in LEFT_OUT:
            # A look helps with a word about a thing, not with an unknown question ("when").
            blind = problem.position > 0 and not (self.parameters["vision"] or problem.suggestions)
            if blind and self._scene is not None and (why := eyes_needed(text, self._scene)):
                return AskTeam.Result(message=f"{problem.line}; {why}")
            return self._not_clear(request.question.id, not_understood(problem))
        settled = await self._settled(question, self._person)
        if settled is not None and not settled.go_on:
            if settled.judgement.kind != "not_seen_yet":
                return self._not_clear(request.question.id, settled.judgement)
        elif settled is not None and settled.request is not None:
            question = question_of(settled.request)
        left_out = settled.left_out if settled is not None else ()
        reply = await self._reply(question, left_out)
        if reply.refused:
            return AskTeam.Result(message=reply.refused)
        notes = [] if self._scene or self.recording else [
            "there is no map yet on topic semantic_map; is a mapper running?"
        ]  # fmt: skip
        walk = Walk()
        least = self.parameters["abstain_below"]
        unsure = reply.guessed or reply.confidence < max(self.parameters["sure"], least)
        if request.explore and unsure and reply.still:
            notes.append(f"nobody went to look: {reply.still}")
        elif request.explore and unsure:
            if self._navigate is None:
                notes.append("nobody may go and look: parameter 'robot' is empty")
            elif self._walking.locked():
                notes.append(f"{self.robot} is looking for another answer")
            else:
                async with self._walking:
                    walk = await self._look(goal, question, request.max_distance)
                notes.append(f"{self.robot} went {walk.travelled:.1f} m: {walk.stopped}")
                reply = await self._reply(question, left_out)
                if settled is not None and settled.judgement.kind == "not_seen_yet":
                    settled = await self._settled(question, None)
        judgement = settled.judgement if settled is not None else None
        if settled is not None and not settled.go_on:
            if reply.guessed or reply.abstains:
                return self._not_clear(
                    request.question.id, settled.judgement, reply.text, notes, walk
                )
            judgement = Judgement()  # the map tells it all the same, or by now
        if reply.reason:
            notes.append(reply.reason)
        if reply.text and reply.confidence < least:
            notes.append(
                f"an answer would be {reply.confidence:.2f} sure, and {least:.2f} is needed"
            )
            reply = dataclasses.replace(reply, text="", confidence=0.0)
        answer = _answer(request.question.id, reply, walk)
        moved = moved_since(question, self.keeper.memory)
        if moved and answer.text:
            why = "; ".join(part for part in (moved, answer.explanation) if part)
            answer = dataclasses.replace(answer, explanation=why)
        told = {"words": answer.text or "it cannot tell", "explanation": answer.explanation}
        evidence = {"objects": answer.objects, "frames": answer.frames, "notes": notes}
        note("answer", "the team", {**told, "confidence": answer.confidence, **evidence})
        if not answer.text:
            return AskTeam.Result(message="no answer was found; " + "; ".join(notes))
        message = conversions.open_answer_to_msg(
            answer,
            time=self.now(),
            frame=self.parameters["frame"],
        )
        return AskTeam.Result(
            success=True,
            message="; ".join(notes)[:1000],
            open=message,
            judgement=judgement_to_msg(judgement),
        )

    async def _reply(self, question: OpenQuestion, left_out: Collection[str]) -> OpenReply:
        scene = None if self._scene is None else without(self._scene, left_out)
        pictures = self._pictures_of if self._kept is not None else None
        return await self.agent.answer(question, scene, self.recording, self._seen, pictures)

    async def _pictures_of(
        self, things: Sequence[SceneObject]
    ) -> Mapping[str, npt.NDArray[np.uint8]]:
        """Return what the mapper keeps of things, by id."""
        assert self._kept is not None
        wanted = [WantedThing(label=one.label.top[:200], at=one.box.center) for one in things]
        came = await self._kept.of(wanted)
        return {things[number].id: color for number, color in came.items()}

    async def _settled(self, question: OpenQuestion, person: Person | None) -> Settled | None:
        """Judge a question, and ask the person once; None where nothing is known to judge it by."""
        scene = self._scene
        if not self.parameters["ask_back"] or scene is None or self.recording is not None:
            return None
        if question.problem is not None and question.problem.kind not in LEFT_OUT:
            return None  # the words go to the model as they are
        coverage = Coverage(scene, self._seen, given=True)
        state = RequestState(
            question.text,
            "ask",
            scene,
            coverage,
            self.agent.vocabulary,
            request=question.request,
            problem=question.problem,
            rooms_given=self.parameters["rooms_given"],
        )

        def cleared(told: Judgement) -> bool:
            return answers_all_the_same(question, MapIndex(scene, self._seen), told)

        return await settle(
            state, self.agent.decider, person, who="open_questions", cleared=cleared
        )

    def _not_clear(
        self,
        question: str,
        told: Judgement,
        usual: str = "",
        notes: Sequence[str] = (),
        walk: Walk | None = None,
    ) -> AskTeam.Result:
        """Say why a question is not answered; what is usual is told as such."""
        denied = told.kind == "false_premise"
        note("answer", "the team", {"words": told.line, "judgement": told.data})
        parts = [*told.evidence, f"what is usual: {usual}" if usual else "", *notes]
        answer = OpenAnswer(
            question,
            told.line,
            confidence=load_conformal().denial(DENIAL_LEVEL) if denied else 0.0,
            guessed=not denied,
            path=tuple(walk.path[-_PATH_POINTS:]) if walk is not None else (),
            method=self.agent.method,
            explanation="; ".join(part for part in parts if part)[:1200],
        )
        message = conversions.open_answer_to_msg(
            answer, time=self.now(), frame=self.parameters["frame"]
        )
        return AskTeam.Result(
            success=True,
            message="; ".join(notes)[:1000],
            open=message,
            judgement=judgement_to_msg(told),
        )

    async def _look(self, goal: GoalContext, question: OpenQuestion, most: float) -> Walk:
        """Go and look, at most `most` [m] and never beyond the node's own limit."""
        own = self.parameters["max_distance"]
        limit = min(most, own) if most > 0.0 else own

        def tell(hop: Hop) -> None:
            progress = AskTeam.Feedback(
                stage=AskTeam.Feedback.EXPLORING,
                robot=self.robot,
                place=hop.place,
                reason=hop.reason,
                distance=float(hop.travelled),
                max_distance=float(limit),
                seen=list(hop.seen),
            )
            goal.feedback(progress)

        walk = Walk()
        looking = go_and_look(
            question,
            self,
            walk,
            max_distance=limit,
            kind=self.parameters["explorer"],
            options=ExplorerOptions(sure=self.parameters["sure"]),
            on_hop=tell,
        )
        try:
            await self._stop_watch.pursue(looking)
        except RobotStopped as stop:
            walk.stopped = str(stop)
        return walk


async def _within(event: asyncio.Event, seconds: float) -> bool:
    try:
        await in_time(event.wait(), seconds)
    except asyncio.TimeoutError:
        return False
    return True


def _answer(question: str, reply: OpenReply, walk: Walk) -> OpenAnswer:
    """The reply with the way that was gone for it; evidence is kept as the map has it."""
    fields = dataclasses.asdict(reply)
    del fields["refused"], fields["still"]
    return OpenAnswer(question=question, path=tuple(walk.path[-_PATH_POINTS:]), **fields)


def make_nodes(options: ProcessOptions) -> list[OpenNode]:
    """Return the node of a team."""
    return [OpenNode("open_questions", namespace=options.namespace, context=options.context)]


def main() -> None:
    """Run the node."""
    raise SystemExit(run_nodes(make_nodes))


if __name__ == "__main__":
    main()
