"""Builds a model, with all its wrappers, from a profile."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from coterie_llm.breaker import CircuitBreaker
from coterie_llm.budget import Budget, Budgeted
from coterie_llm.cached import Cached
from coterie_llm.cassette import Recording, ReplayModel
from coterie_llm.decider import Decider
from coterie_llm.limited import Limited
from coterie_llm.local import ensure_served, served_name
from coterie_llm.local_model.server import KEY_VARIABLE
from coterie_llm.meter import Metered, UsageMeter
from coterie_llm.openai_model import DEFAULT_URL, OpenAIModel
from coterie_llm.profile import ModelProfile
from coterie_llm.retrying import Retrying
from coterie_llm.rules_model import RulesModel
from coterie_llm.tokens import Prices
from coterie_llm.types import LanguageModel, Sampled


def build_model(
    profile: ModelProfile,
    meter: UsageMeter | None = None,
    env: Mapping[str, str] | None = None,
    *,
    budget: Budget | None = None,
) -> LanguageModel:
    """Build the model that a profile describes.

    Limits (budget, calls at a time, circuit) belong to the object returned: robots that share it
    share them. From the outside in, and why in this order:

    1. `Sampled`: everything inside, cassettes' keys too, sees the sampling that is really used.
    2. `Cached`: a question that was answered is not asked again, and counts as no call.
    3. `Metered`: counts what a decision waits for and gets, refusals by budget and circuit
       included.
    4. `Recording`: a replay has to give the decision what it got, after all retries.
    5. `Retrying`: around the slots, so that a call that waits for its next attempt holds none.
    6. `Limited`: around the circuit, so that calls in the queue learn that it opened.
    7. `CircuitBreaker`: sees each attempt.
    8. `Budgeted`: around each attempt, since each may be billed; nothing is reserved while a call
       queues.
    9. `OpenAIModel`.

    Args:
        profile: The profile.
        meter: Counts calls, tokens, cost and time per robot and decision.
        env: Environment that keys are read from; `os.environ` by default.
        budget: A budget shared with other models; by default one of its own with the profile's
            limits.

    Raises:
        MissingKey: The profile names a variable that is not set.
        RequestRejected: The endpoint is on another machine and that is forbidden here (tests).
        NoLocalModel: A local model is not installed, or does not start.
        LanguageError: The cassette cannot be replayed.
    """
    if profile.kind == "rules":
        return RulesModel()
    model: LanguageModel
    if profile.kind == "replay":
        assert profile.cassette is not None  # the profile's own validation
        model = ReplayModel(
            profile.cassette, model=profile.model, fatal_miss=profile.on_miss == "fail"
        )
    else:
        model = _endpoint(profile, os.environ if env is None else env, budget)
    if meter is not None:
        model = Metered(model, meter)
    if profile.cache:
        model = Cached(model, profile.cache)
    settings: dict[str, Any] = {
        name: value
        for name in ("temperature", "seed", "reply_factor", "thinking_tokens", "reasoning_effort")
        if (value := getattr(profile, name)) != ModelProfile.model_fields[name].default
    }
    return Sampled(model, **settings) if settings else model


def build_decider(
    profile: ModelProfile,
    *,
    who: str = "",
    timeout_s: float | None = None,
    meter: UsageMeter | None = None,
    env: Mapping[str, str] | None = None,
    own: Mapping[str, tuple[str, Any]] | None = None,
) -> Decider:
    """Build the model that a profile describes, and who puts decisions to it.

    Args:
        profile: The profile.
        who: The robot that decides.
        timeout_s: Seconds that one decision may take in all [s]; by default the profile's
            `timeout_s`.
        meter: Counts calls and decisions.
        env: Environment that keys are read from; `os.environ` by default.
        own: Decisions of the user's own; see `own_decisions`.

    Raises:
        LanguageError: As `build_model`.
    """
    return Decider(
        build_model(profile, meter, env),
        timeout_s=timeout_s or profile.timeout_s,
        who=who,
        on_decided=meter.watch(who) if meter is not None else None,
        policy=dataclasses.replace(profile.policy, own=own or {}),
        larger=build_model(profile.larger, meter, env) if profile.larger else None,
        larger_context=profile.larger.policy.context if profile.larger else None,
    )


def _endpoint(
    profile: ModelProfile, env: Mapping[str, str], budget: Budget | None
) -> LanguageModel:
    name, url, key = profile.model, profile.base_url or DEFAULT_URL, profile.key_variable
    if profile.kind == "local":
        server = ensure_served(profile)
        assert server is not None  # of this kind
        name, url, key = served_name(profile), server.url, KEY_VARIABLE
        env = {**env, **server.environment}
    assert name is not None  # the profile's own validation
    prices = Prices(profile.price_prompt_per_mtok, profile.price_completion_per_mtok)
    model: LanguageModel = OpenAIModel(
        name, base_url=url, api_key_env=key, timeout_s=profile.timeout_s, prices=prices, env=env
    )
    if budget is None and (profile.budget_tokens is not None or profile.budget_cost is not None):
        budget = Budget(tokens=profile.budget_tokens, cost=profile.budget_cost)
    if budget is not None:
        model = Budgeted(model, budget, prices=prices)
    model = CircuitBreaker(model)
    model = Limited(model, profile.max_concurrency)
    model = Retrying(model, max_retries=profile.max_retries, seed=profile.seed or 0)
    if profile.record_to is not None:
        model = Recording(model, profile.record_to)
    return model
