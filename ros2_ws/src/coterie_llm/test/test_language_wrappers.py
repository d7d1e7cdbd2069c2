"""Retries, circuit, slots, budgets, meter: each alone on a clock of its own, then all over HTTP."""

from __future__ import annotations

import asyncio
import email.utils
import random
import threading
from collections.abc import Callable

import pytest

from coterie_fixtures.endpoint import (
    Cut,
    Endpoint,
    Hang,
    Refusal,
    Says,
    rate_limit,
    server_error,
)
from coterie_llm import (
    BadReply,
    Budget,
    Budgeted,
    BudgetExceeded,
    CircuitBreaker,
    CircuitOpen,
    LanguageError,
    LanguageModel,
    Limited,
    Message,
    Metered,
    ModelProfile,
    ModelRequest,
    ModelTimeout,
    ModelUnavailable,
    OpenAIModel,
    RateLimited,
    Reply,
    RequestRejected,
    Retrying,
    ServerFault,
    Usage,
    UsageMeter,
    build_model,
)
from coterie_llm.budget import budget_of
from coterie_llm.errors import parse_retry_after
from coterie_llm.limited import Slots
from coterie_llm.tokens import Prices, most_prompt

ASK = ModelRequest(messages=(Message.user("where to?"),), max_tokens=50)


class Scripted(LanguageModel):
    """Plays a list of outcomes, then replies."""

    name = "scripted"

    def __init__(self, *outcomes: LanguageError | Reply) -> None:
        self.outcomes = list(outcomes)
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest) -> Reply:
        self.requests.append(request)
        await asyncio.sleep(0)
        outcome = self.outcomes.pop(0) if self.outcomes else Reply("ok")
        if isinstance(outcome, LanguageError):
            raise outcome
        return outcome


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.slept_s: list[float] = []

    def __call__(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        self.now_s += seconds


def retrying(model: LanguageModel, clock: Clock, seed: int = 0, retries: int = 3) -> Retrying:
    return Retrying(model, max_retries=retries, seed=seed, clock=clock, sleep=clock.sleep)


# --- retries


async def test_waits_grow_with_full_jitter_and_repeat_with_the_seed() -> None:
    async def waits(seed: int, who: str = "robot1") -> list[float]:
        clock = Clock()
        model = Scripted(*[ServerFault("down", status=500)] * 3)
        asked = ModelRequest(messages=ASK.messages, tags={"who": who})
        assert (await retrying(model, clock, seed).complete(asked)).text == "ok"
        return clock.slept_s

    first = await waits(1)
    assert first == await waits(1)
    assert first != await waits(2)
    assert first != await waits(1, "robot2"), "robots of one team do not return together"
    assert all(0 <= wait <= 0.5 * 2**n for n, wait in enumerate(first))


async def test_retry_after_is_kept_and_capped() -> None:
    clock = Clock()
    model = Scripted(RateLimited("slow", retry_after_s=7.0), RateLimited("slow", retry_after_s=900))
    await retrying(model, clock).complete(ASK)
    assert 7.0 <= clock.slept_s[0] <= 7.5
    assert 20.0 <= clock.slept_s[1] <= 20.5


async def test_what_time_does_not_mend_is_not_tried_again() -> None:
    for error in (
        RequestRejected("no", status=401),
        BadReply("no"),
        BudgetExceeded("no"),
        CircuitOpen("no"),
    ):
        model, clock = Scripted(error), Clock()
        with pytest.raises(type(error)):
            await retrying(model, clock).complete(ASK)
        assert len(model.requests) == 1
        assert clock.slept_s == []


async def test_attempts_are_limited_and_the_last_error_is_told() -> None:
    model = Scripted(*[ServerFault(f"down {n}") for n in range(9)])
    with pytest.raises(ServerFault, match="down 2"):
        await retrying(model, Clock(), retries=2).complete(ASK)


async def test_no_wait_goes_past_the_deadline() -> None:
    clock = Clock()
    model = Scripted(RateLimited("slow", retry_after_s=10.0))
    asked = ModelRequest(messages=ASK.messages, timeout_s=5.0)
    with pytest.raises(RateLimited):
        await retrying(model, clock).complete(asked)
    assert clock.slept_s == []

    model = Scripted(RateLimited("slow", retry_after_s=3.0))
    await retrying(model, clock).complete(asked)
    left_s = model.requests[1].timeout_s
    assert left_s is not None
    assert 1.5 <= left_s <= 2.0, "the next attempt gets what is left"


async def test_usage_of_failed_attempts_is_counted() -> None:
    failed = ServerFault("down")
    failed.usage = Usage(10, 5, 0.1)
    reply = await retrying(Scripted(failed, Reply("ok", usage=Usage(1, 1))), Clock()).complete(ASK)
    assert reply.usage == Usage(11, 6, 0.1)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("3", 3.0),
        (" 2.5 ", 2.5),
        ("-1", 0.0),
        ("nan", None),
        ("soon", None),
        ("", None),
        (None, None),
        ("1e99", 86_400.0),
        (email.utils.formatdate(1_000_060, usegmt=True), 60.0),
        (email.utils.formatdate(999_000, usegmt=True), 0.0),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_date(
    header: str | None, seconds: float | None
) -> None:
    assert parse_retry_after(header, now_s=1_000_000.0) == seconds


# --- circuit


async def fails(model: LanguageModel) -> str:
    try:
        await model.complete(ASK)
    except LanguageError as error:
        return type(error).__name__
    return ""


def state(breaker: CircuitBreaker) -> str:
    return breaker.state


async def test_a_circuit_opens_tries_and_closes() -> None:
    clock = Clock()
    inner = Scripted(*[ServerFault("down")] * 4)
    breaker = CircuitBreaker(inner, threshold=3, cool_down_s=10.0, clock=clock)
    assert [await fails(breaker) for _ in range(4)] == ["ServerFault"] * 3 + ["CircuitOpen"]
    assert (state(breaker), len(inner.requests)) == ("open", 3)
    clock.now_s = 10.0
    assert state(breaker) == "half-open"
    assert await fails(breaker) == "ServerFault", "one call tries"
    assert await fails(breaker) == "CircuitOpen", "it failed, so wait again"
    clock.now_s = 20.0
    assert await fails(breaker) == ""
    assert state(breaker) == "closed"


async def test_only_one_call_tries_an_open_circuit() -> None:
    clock = Clock()
    breaker = CircuitBreaker(Scripted(ServerFault("x")), threshold=1, cool_down_s=1.0, clock=clock)
    await fails(breaker)
    clock.now_s = 1.0
    outcomes = await asyncio.gather(*[fails(breaker) for _ in range(5)])
    assert sorted(outcomes) == ["", *["CircuitOpen"] * 4]


async def test_what_says_nothing_about_the_endpoint_does_not_open_the_circuit() -> None:
    alive = [RateLimited("slow"), BadReply("refused"), RequestRejected("long", status=400)]
    breaker = CircuitBreaker(Scripted(*alive * 3), threshold=2)
    for _ in range(9):
        await fails(breaker)
    assert state(breaker) == "closed"
    mixed = [ModelTimeout("x"), RateLimited("slow")] * 4
    breaker = CircuitBreaker(Scripted(*mixed), threshold=2)
    for _ in range(8):
        await fails(breaker)
    assert state(breaker) == "closed", "failures count in a row only"
    breaker = CircuitBreaker(Scripted(*[RequestRejected("key", status=401)] * 2), threshold=2)
    await fails(breaker)
    await fails(breaker)
    assert state(breaker) == "open", "with a wrong key every call fails"


async def test_a_cancelled_trial_leaves_the_circuit_to_the_next() -> None:
    clock = Clock()
    inner = Scripted(ServerFault("x"))
    breaker = CircuitBreaker(inner, threshold=1, cool_down_s=1.0, clock=clock)
    await fails(breaker)
    clock.now_s = 1.0
    task = asyncio.create_task(breaker.complete(ASK))
    while len(inner.requests) < 2:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await fails(breaker) == ""


# --- slots


class Counting(LanguageModel):
    """Knows how many calls run at a time, and in which order they came."""

    name = "counting"

    def __init__(self, seconds: float = 0.001) -> None:
        self.running = self.most = 0
        self.order: list[str] = []
        self._seconds = seconds
        self._lock = threading.Lock()

    async def complete(self, request: ModelRequest) -> Reply:
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
            self.order.append(request.messages[0].text)
        try:
            await asyncio.sleep(self._seconds)
        finally:
            with self._lock:
                self.running -= 1
        return Reply("ok", usage=Usage(30, 20))


def asking(text: str, timeout_s: float | None = None) -> ModelRequest:
    return ModelRequest(messages=(Message.user(text),), max_tokens=50, timeout_s=timeout_s)


async def test_slots_are_limited_and_first_come_first_served() -> None:
    inner = Counting()
    model = Limited(inner, 3)
    await asyncio.gather(*[model.complete(asking(f"{n:02}")) for n in range(20)])
    assert inner.most == 3
    assert inner.order == [f"{n:02}" for n in range(20)]


async def test_slots_survive_random_cancellations() -> None:
    rng = random.Random(3)
    inner = Counting(0.002)
    model = Limited(inner, 2)
    tasks = [asyncio.create_task(model.complete(asking(str(n)))) for n in range(60)]
    for task in tasks:
        if rng.random() < 0.6:
            await asyncio.sleep(rng.choice([0, 0, 0.001, 0.002]))
            task.cancel()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert any(isinstance(outcome, asyncio.CancelledError) for outcome in done)
    assert any(isinstance(outcome, Reply) for outcome in done)
    assert inner.most == 2
    await asyncio.gather(model.complete(ASK), model.complete(ASK))
    assert inner.most == 2, "both slots came back"


async def test_waiting_for_a_slot_ends_with_the_time_out() -> None:
    slots = Slots(1)
    model = Limited(Counting(), slots)
    await slots.acquire(None, "holder")
    with pytest.raises(ModelTimeout, match=r"no free slot within 0\.05 s; raise max_concurrency"):
        await model.complete(asking("late", 0.05))
    assert slots.waiting == 0
    slots.release()
    assert (await model.complete(asking("now", 5.0))).text == "ok"


def test_slots_hold_over_several_event_loops() -> None:
    inner = Counting(0.003)
    model = Limited(inner, 2)

    def robot() -> None:
        async def work() -> None:
            await asyncio.gather(*[model.complete(ASK) for _ in range(8)])

        asyncio.run(work())

    threads = [threading.Thread(target=robot) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert len(inner.order) == 32
    assert inner.most == 2


# --- budgets


async def test_concurrent_calls_never_overspend() -> None:
    one = most_prompt(ASK) + ASK.max_tokens
    limit = 3 * one + 10
    budget = Budget(tokens=limit)
    inner = Counting(0.002)
    model = Budgeted(inner, budget)
    outcomes = await asyncio.gather(
        *[model.complete(ASK) for _ in range(50)], return_exceptions=True
    )
    assert inner.most == 3, "only so many worst cases fit at a time"
    assert sum(isinstance(o, Reply) for o in outcomes) == 3
    assert all(isinstance(o, (Reply, BudgetExceeded)) for o in outcomes)
    assert budget.spent.tokens == 3 * 50
    while True:  # what was reserved and not used is free again
        try:
            await model.complete(ASK)
        except BudgetExceeded as error:
            assert "raise budget_tokens" in str(error)
            break
        assert budget.spent.tokens <= limit
    assert limit - one < budget.spent.tokens <= limit


def test_a_budget_shared_by_threads_holds() -> None:
    budget = Budget(tokens=10_000)

    def robot() -> None:
        async def work() -> None:
            model = Budgeted(Counting(0.0), budget)
            for _ in range(100):
                try:
                    await model.complete(ASK)
                except BudgetExceeded:
                    return

        asyncio.run(work())

    threads = [threading.Thread(target=robot) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert 9_000 < budget.spent.tokens <= 10_000


async def test_cost_is_limited_too() -> None:
    prices = Prices(prompt_per_mtok=1000.0, completion_per_mtok=2000.0)
    budget = Budget(cost=0.5)
    model = Budgeted(Counting(), budget, prices=prices)
    assert budget_of(Limited(model, 2)) is budget and budget_of(Counting()) is None
    assert (budget.remaining_cost, budget.remaining_tokens, budget.used_up) == (0.5, None, False)
    with pytest.raises(BudgetExceeded, match="raise budget_cost"):
        for _ in range(100):
            await model.complete(ASK)
    assert 0.25 < budget.spent.cost <= 0.5
    assert budget.spent.cost == pytest.approx(budget.spent.tokens / 50 * 0.07)
    assert budget.used_up and budget.remaining_cost == pytest.approx(0.5 - budget.spent.cost)


@pytest.mark.parametrize(
    ("outcome", "booked"),
    [
        (RateLimited("slow"), 0),
        (ServerFault("down", status=500), 0),
        (ModelUnavailable("no connection"), 0),
        (BadReply("refused", usage=Usage(7, 3)), 10),
        (ModelTimeout("hangs"), most_prompt(ASK) + 50),
        (ModelUnavailable("cut", maybe_billed=True), most_prompt(ASK) + 50),
        (Reply("ok", usage=Usage(5, 5)), 10),
        (Reply("0123456789"), 3 + 4 + 11),
    ],
)
async def test_what_a_call_costs(outcome: LanguageError | Reply, booked: int) -> None:
    budget = Budget(tokens=10_000)
    await fails(Budgeted(Scripted(outcome), budget))
    assert budget.spent.tokens == booked
    assert budget.remaining_tokens == 10_000 - booked


async def test_a_cancelled_call_is_booked_in_full() -> None:
    budget = Budget(tokens=10_000)
    task = asyncio.create_task(Budgeted(Counting(60), budget).complete(ASK))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert budget.spent.tokens == most_prompt(ASK) + 50
    assert budget.remaining_tokens == 10_000 - budget.spent.tokens


async def test_an_endpoint_that_overruns_is_reserved_for_more() -> None:
    budget = Budget(tokens=100_000)
    greedy = Scripted(*[Reply("x", usage=Usage(0, 3000))] * 99)
    model = Budgeted(greedy, budget)
    await model.complete(ASK)
    with pytest.raises(BudgetExceeded):
        for _ in range(99):
            await model.complete(ASK)
    assert budget.spent.tokens <= 100_000


# --- meter


async def test_the_meter_counts_per_robot_and_decision() -> None:
    meter = UsageMeter()
    bad = BadReply("refused", usage=Usage(4, 1))
    good = Reply("ok", usage=Usage(10, 2, 0.5, True))
    model = Metered(Scripted(good, bad, ModelTimeout("x"), good), meter)

    async def ask(who: str, decision: str) -> None:
        tags = {"who": who, "decision": decision}
        await fails_with(model, ModelRequest(messages=ASK.messages, tags=tags))

    async def fails_with(model: LanguageModel, request: ModelRequest) -> None:
        try:
            await model.complete(request)
        except LanguageError:
            pass

    for who, decision in [("a", "go"), ("a", "go"), ("a", "say"), ("b", "go")]:
        await ask(who, decision)
    row = meter.row("a", "go")
    assert (row.calls, dict(row.failures)) == (2, {"BadReply": 1})
    assert row.usage == Usage(14, 3, 0.5, True)
    assert meter.total("a") == Usage(14, 3, 0.5, True)
    assert meter.total() == Usage(24, 5, 1.0, True)
    data = {(line["who"], line["decision"]): line for line in meter.as_json()}
    assert data["a", "say"]["failures"] == {"ModelTimeout": 1}
    table = meter.table().splitlines()
    assert len(table) == 4
    assert table[0].startswith("who")
    assert "~14" in table[1]
    assert len({len(line.rstrip()) for line in table}) == 1


# --- everything, over HTTP


def profile(endpoint: Endpoint, **fields: object) -> ModelProfile:
    settings = {"kind": "openai", "base_url": endpoint.url, "model": "test-model", **fields}
    return ModelProfile.model_validate(settings)


async def test_retries_over_http() -> None:
    with Endpoint(lambda request: "hello") as endpoint:
        endpoint.fail(rate_limit("0.1"), server_error(502), Cut())
        meter = UsageMeter()
        model = build_model(profile(endpoint), meter)
        reply = await model.complete(ASK)
        assert reply.text == "hello"
        assert len(endpoint.received) == 4
        assert meter.row("", "").calls == 1
        await model.aclose()


async def test_the_openai_client_does_not_retry_by_itself() -> None:
    with Endpoint() as endpoint:
        endpoint.fail(server_error())
        with pytest.raises(ServerFault, match="HTTP 500"):
            await OpenAIModel("m", base_url=endpoint.url).complete(ASK)
        assert len(endpoint.received) == 1


async def test_retry_after_arrives_from_http() -> None:
    with Endpoint() as endpoint:
        model = OpenAIModel("m", base_url=endpoint.url)
        endpoint.fail(rate_limit("17"), rate_limit(None))
        with pytest.raises(RateLimited) as first:
            await model.complete(ASK)
        with pytest.raises(RateLimited) as second:
            await model.complete(ASK)
    assert first.value.retry_after_s == 17.0
    assert second.value.retry_after_s is None


async def test_a_dead_endpoint_opens_the_circuit_and_the_budget_knows() -> None:
    with Endpoint(dead=True) as endpoint:
        meter = UsageMeter()
        settings = profile(endpoint, timeout_s=0.2, max_retries=0, budget_tokens=1_000_000)
        model = build_model(settings, meter)
        outcomes = [await fails(model) for _ in range(7)]
    assert outcomes == ["ModelTimeout"] * 5 + ["CircuitOpen"] * 2
    assert not endpoint.received
    assert meter.total().tokens == 5 * (most_prompt(ASK) + 50)
    assert meter.total().estimated


async def test_a_slow_endpoint_is_not_taken_to_be_down() -> None:
    """It hangs over every question, but tells at once which models it has."""
    with Endpoint() as endpoint:
        endpoint.fail(*[Hang()] * 3)
        breaker = CircuitBreaker(
            OpenAIModel("m", base_url=endpoint.url, timeout_s=1.0), threshold=2
        )
        assert [await fails(breaker) for _ in range(3)] == ["ModelTimeout"] * 3
        assert await fails(breaker) == "", "the next is answered"


async def test_an_endpoint_that_dies_while_it_is_slow_opens_the_circuit() -> None:
    with Endpoint() as endpoint:
        endpoint.fail(*[Hang()] * 20)
        model = build_model(profile(endpoint, timeout_s=0.3, max_retries=0))
        assert {await fails(model) for _ in range(7)} == {"ModelTimeout"}
        endpoint.dead = True
        outcomes = [await fails(model) for _ in range(6)]
    assert outcomes[-1] == "CircuitOpen" and outcomes[0] == "ModelTimeout"


async def test_an_open_circuit_closes_for_an_endpoint_that_is_back_but_slow() -> None:
    clock = Clock()
    with Endpoint(dead=True) as endpoint:
        inner = OpenAIModel("m", base_url=endpoint.url, timeout_s=1.0)
        breaker = CircuitBreaker(inner, threshold=2, cool_down_s=30.0, clock=clock)
        assert [await fails(breaker) for _ in range(3)][-1] == "CircuitOpen"
        endpoint.dead = False
        endpoint.fail(Hang())
        clock.now_s = 30.0
        assert await fails(breaker) == "ModelTimeout", "one call tries"
        assert await fails(breaker) == "", "it lives: no other 30 s"


async def test_calls_at_a_time_are_limited_over_http() -> None:
    with Endpoint(lambda request: "x", delay_s=0.2) as endpoint:
        model = build_model(profile(endpoint, max_concurrency=3))
        await asyncio.gather(*[model.complete(ASK) for _ in range(12)])
        assert endpoint.most_running == 3
        assert len(endpoint.received) == 12


async def test_a_budget_ends_the_calls_over_http() -> None:
    with Endpoint(lambda request: "x", usage=(60, 40)) as endpoint:
        model = build_model(profile(endpoint, budget_tokens=1000, max_concurrency=8))
        outcomes = await asyncio.gather(
            *[model.complete(ASK) for _ in range(40)], return_exceptions=True
        )
        done = sum(isinstance(o, Reply) for o in outcomes)
        assert len(endpoint.received) == done
        assert 0 < done * 100 <= 1000


async def test_usage_is_estimated_when_the_endpoint_reports_none() -> None:
    with Endpoint(lambda request: "twelve letters", usage=None) as endpoint:
        priced = profile(endpoint, price_prompt_per_mtok=1.0, price_completion_per_mtok=2.0)
        usage = (await build_model(priced).complete(ASK)).usage
    assert usage.estimated
    assert usage.completion_tokens == 2
    assert usage.cost == pytest.approx((usage.prompt_tokens + 2 * 2) / 1e6)


@pytest.mark.parametrize("fault", [Refusal(), Says("{", "length")])
async def test_tokens_of_useless_replies_are_paid_for(fault: Refusal | Says) -> None:
    with Endpoint(usage=(60, 40)) as endpoint:
        endpoint.fail(fault)
        meter = UsageMeter()
        model = build_model(profile(endpoint, budget_tokens=10_000), meter)
        with pytest.raises(BadReply):
            await model.complete(ASK)
        assert meter.total() == Usage(60, 40)


async def test_nobody_listens() -> None:
    with Endpoint() as endpoint:
        url = endpoint.url
    with pytest.raises(ModelUnavailable, match="is the model server running") as error:
        await OpenAIModel("m", base_url=url).complete(ASK)
    assert not error.value.maybe_billed
    assert error.value.retryable


SETTERS: list[Callable[[], object]] = [
    lambda: Slots(0),
    lambda: CircuitBreaker(Scripted(), threshold=0),
]


@pytest.mark.parametrize("make", SETTERS)
def test_limits_of_nothing_are_errors(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        make()
