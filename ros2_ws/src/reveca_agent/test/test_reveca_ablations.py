"""Every ablation takes away what it names and nothing else; prompts hold what decisions need."""

from dataclasses import replace

import pytest

from coterie_core.cooperation import (
    Briefing,
    Facts,
    Gate,
    Goal,
    HomeRoom,
    Note,
    Percept,
    Send,
    Spot,
    Thing,
    Vocabulary,
    Walkways,
    Whereabouts,
    compose,
    understand,
)
from coterie_llm import CheckFailed, decide_by_rule, request_for
from reveca_agent.agent import RevecaAgent
from reveca_agent.collaborators import Collaborator, Trace
from reveca_agent.communication import looked, searched
from reveca_agent.memory import Memory
from reveca_agent.planning import ChoosePlan, PlanState, candidates, with_others
from reveca_agent.plans import Plan
from reveca_agent.relevance import RateRelevance, Rating, Ratings, RatingState
from reveca_agent.settings import Settings
from reveca_agent.validation import JudgeScenario, scenarios, shown

GOAL = Goal.parse("clear the desk", ["ON(book, shelf): 2"])
ROOMS = ("study", "landing", "attic", "cellar")


@pytest.fixture(scope="module")
def ways():
    """Four rooms in a row, 8 m each."""
    rooms = [HomeRoom(n, n, n, (8.0 * k + 4.0, 3.0, 0.0)) for k, n in enumerate(ROOMS)]
    gates = [
        Gate(f"g{k}", ROOMS[k], ROOMS[k + 1], *((8.0 * (k + 1), 3.0, 0.0),) * 2) for k in range(3)
    ]
    return Walkways(rooms, gates)


def spot(room, x):
    return Spot(room, (x, 3.0, 0.0))


SHELF = Thing("shelf-1", "shelf", "surface", spot("study", 2.0))
DESK = Thing("desk-1", "desk", "surface", spot("attic", 20.0))
BOOK = Thing("book-1", "book", "item", spot("attic", 20.0), "desk-1", "on", None, True)
CHEST = Thing("chest-1", "chest", "container", spot("landing", 12.0), is_open=False)


def see(agent, room, x, *things, step, mates=(), notes=(), result=None):
    agent.observe(
        Percept(step, spot(room, x), (), things, (room, step), (room,), mates, notes, result)
    )


def settled(ways, **settings):
    """Ada in the study knows of a book in the attic; Bob was near it 40 steps ago."""
    agent = RevecaAgent("Ada", None, Settings(**settings))
    agent.begin(Briefing("Ada", ("Ada", "Bob"), GOAL, ways, stride=0.5, seed=3))
    agent._started = True
    see(agent, "attic", 20.0, DESK, BOOK, step=1)
    see(agent, "landing", 12.0, CHEST, step=30)
    see(agent, "study", 4.0, SHELF, step=60)
    mate = agent.memory.collaborators["Bob"] = Collaborator("Bob", [Trace(20, spot("attic", 21.0))])
    mate.heads_for("book-1", spot("attic", 20.0), 20)
    return agent


async def test_questions_and_discount_are_taken_away_one_by_one(ways):
    found = {}
    for ask in ("likely", "never"):
        for discount in (True, False):
            agent = settled(ways, ask=ask, discount=discount)
            await agent._rate()
            options = candidates(agent.memory, agent.briefing)
            book = next(one for one in options if one.plan.target == "book-1")
            assert book.plan.doubt == "Bob"  # predicted all the same
            question = await agent._validate(book.plan)
            found[ask, discount] = (book.doubted, question is not None)
    assert found == {
        ("likely", True): (True, True),
        ("likely", False): (False, True),
        ("never", True): (True, False),
        ("never", False): (False, False),
    }


async def test_without_relevance_the_order_by_expected_gain_stays(ways):
    def targets(**settings):
        agent = settled(ways, plans=9, collaborators=False, **settings)
        return [one.plan.target for one in candidates(agent.memory, agent.briefing)]

    rated = settled(ways, plans=9, collaborators=False)
    await rated._rate()
    best = candidates(rated.memory, rated.briefing)
    promised = [one.rate for one in best if one.gain]
    assert targets(relevance=False)  # no rating at all: by what is promised per step
    agent = settled(ways, plans=9, collaborators=False, relevance=False)
    rates = [one.rate for one in candidates(agent.memory, agent.briefing)]
    assert rates == sorted(rates, reverse=True) and len(promised) == len(rates)
    near = settled(ways, plans=9, collaborators=False, order=False)
    await near._rate()
    keys = [(-one.level, one.cost) for one in candidates(near.memory, near.briefing)]
    assert keys == sorted(keys)


def test_a_token_budget_bounds_what_a_decision_sees(ways):
    goal = Goal.parse("g", ["ON(book, shelf): 1"])
    counts = {}
    for tokens in (0, 60, 30):
        memory = Memory(Settings(tokens=tokens), "Ada", goal)
        agent = RevecaAgent("Ada", None, memory.settings)
        agent.begin(Briefing("Ada", ("Ada",), goal, ways), memory)
        things = [
            Thing(f"vase-{k}", "vase", "item", spot("study", 3.0), "shelf-1", "on", None, True)
            for k in range(12)
        ]
        see(agent, "study", 4.0, SHELF, *things, step=1)
        counts[tokens] = len(memory.shown())
    assert counts[0] == 13 and counts[0] > counts[60] > counts[30] > 0


# --- what is said of rooms -----------------------------------------------------------------------


def test_nothing_left_is_said_only_of_what_was_looked_into(ways):
    agent = settled(ways)
    memory = agent.memory
    assert searched(memory) == ["study"]
    assert {(one.room, one.closed) for one in looked(memory)} == {
        ("attic", ()),  # a book is left there
        ("landing", ("chest-1",)),
    }
    see(agent, "landing", 12.0, replace(CHEST, is_open=True), step=80)
    assert set(searched(memory)) == {"study", "landing", "chest-1"}
    said = agent.communicator._note(
        "start", Facts(searched=("study",), looked=tuple(looked(settled(ways).memory)))
    ).text
    assert "Nothing left in study." in said and "landing (closed: chest-1)" in said


def test_rooms_with_closed_containers_stay_worth_a_look_for_who_is_told(ways):
    words = Vocabulary(
        lambda w: ("chest-1", "chest") if w == "chest-1" else None,
        lambda w: w if w in ROOMS else None,
    )
    text = "Nothing left in study. Looked round landing (closed: chest-1), attic."
    read = understand(Note("1", "Bob", "text", text), words).facts
    assert read.searched == ("study",)
    assert [(one.room, one.closed) for one in read.looked] == [
        ("landing", ("chest-1",)),
        ("attic", ()),
    ]
    agent = RevecaAgent("Ada")
    agent.begin(Briefing("Ada", ("Ada", "Bob"), GOAL, ways))
    see(agent, "cellar", 30.0, step=1)
    agent.receive(Note("b1", "Bob", "start", text, read, (), 1))
    gains = {o.plan.target: o.gain for o in _all(agent)}
    assert gains["landing"] > 5 * gains["study"]
    written = compose("start", read)
    assert understand(Note("2", "Bob", "text", written[0]), words).facts.looked == read.looked


def _all(agent):
    agent.memory.settings = replace(agent.memory.settings, plans=9)
    return candidates(agent.memory, agent.briefing)


def test_a_room_with_something_closed_is_no_yes_to_did_you_search(ways):
    agent = settled(ways)
    ask = Note("b2", "Bob", "ask", "?", Facts(item="landing", place="landing"), (), 60)
    agent.receive(ask)
    reply = agent.communicator.reply(None)
    assert reply.facts.answer == "looked" and "not into all that is closed" in reply.text


# --- prompts -------------------------------------------------------------------------------------


def text_of(decision, state):
    return "\n".join(m.text for m in decision.prompt(state))


async def test_messages_reach_planning_and_judging_by_their_relevance(ways):
    agent = settled(ways)
    say = Facts(me=Whereabouts("attic", (21.0, 3.0, 0.0)))
    for k in range(12):
        agent.receive(Note(f"b{k}", "Bob", "text", f"idle talk {k}", None, (), 60))
    agent.receive(Note("b99", "Bob", "done", "the lamp is in the cellar", say, (), 60))
    for one in agent.memory.heard:
        one.level = 3 if "lamp" in one.note.text or one.note.text.endswith("talk 0") else 0
    options = candidates(agent.memory, agent.briefing)
    with_others(options, agent.memory, agent.briefing)
    chosen = text_of(ChoosePlan(), PlanState(options, agent.memory, 190))
    state = scenarios(Plan("fetch", "book-1"), agent.memory, agent.briefing)
    judged = text_of(JudgeScenario(), shown(state, agent.memory, agent.briefing))
    for text in (chosen, judged):
        assert "the lamp is in the cellar" in text and "idle talk 0" in text
        assert "idle talk 5" not in text
    assert (
        "190 steps left" in chosen
        and "3 = strong" in chosen
        and '"steps for others": {"Bob": ' in chosen
    )
    assert "ON(book, shelf)" in judged and "by its word" in judged


def test_where_one_was_between_two_sightings_is_told_as_such(ways):
    mate = Collaborator("Bob", [Trace(0, spot("study", 4.0)), Trace(40, spot("attic", 20.0))])
    briefing = Briefing("Ada", ("Ada", "Bob"), GOAL, ways, stride=0.5)
    told = mate.track(0, 40, briefing)
    assert "step 0 study (4.0, 3.0), seen" in told
    assert "step 20 landing (12.0, 3.0), on its way" in told


def test_who_reads_a_list_does_not_find_the_answer_first(ways):
    """The rule takes the first of its candidates; a model sees them in an order of names alone."""
    agent = settled(ways)
    options = candidates(agent.memory, agent.briefing)
    state = PlanState(options, agent.memory)
    assert state.chosen(decide_by_rule(ChoosePlan(), state).reply) is options[0]
    assert text_of(ChoosePlan(), state) == text_of(
        ChoosePlan(), PlanState(options[::-1], agent.memory)
    )
    shown = ChoosePlan().options(state)["plan"]
    assert set(shown) == {one.plan.text() for one in options}
    turned = PlanState(options[::-1], agent.memory)
    assert shown == ChoosePlan().options(turned)["plan"], "the schema tells no ranking either"


def test_ratings_name_what_they_rate():
    state = RatingState(GOAL, (SHELF, BOOK), (Note("n", "Bob", "text", "hello"),), 4)
    assert "book-1: book (book-1)" in text_of(RateRelevance(), state)
    few, many = (
        request_for(RateRelevance(), replace(state, things=(SHELF, BOOK) * k), "model").max_tokens
        for k in (1, 8)
    )
    assert few < many < RateRelevance.max_tokens  # room for a rating of each, not for endless ones
    mixed = Ratings(
        ratings=[
            Rating(id="message 1", level=1),
            Rating(id="book-1", level=3),
            Rating(id="shelf-1", level=2),
        ]
    )
    RateRelevance().check(state, mixed)
    assert mixed.by_piece(state) == [2, 3, 1]
    with pytest.raises(CheckFailed, match="'message 1'"):
        RateRelevance().check(state, Ratings(ratings=mixed.ratings[1:]))


async def test_without_a_discount_the_agent_still_talks(ways):
    agent = settled(ways, discount=False)
    action = await agent.act()
    assert isinstance(action, Send) and action.note.kind == "ask"
