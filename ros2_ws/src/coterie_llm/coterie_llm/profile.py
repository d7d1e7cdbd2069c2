"""Model profiles: the part of a team file that says which model to ask, how, and for how much."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from coterie_core.yaml_checks import check
from coterie_core.yaml_marks import FileProblem, load_marked, read_text
from coterie_llm.endpoint_settings import EndpointSettings
from coterie_llm.errors import ProfileError
from coterie_llm.modes import Mode, Policy, known_decision

DecisionName = Annotated[str, AfterValidator(known_decision)]

LOCAL_CONTEXT = 4096
"""Tokens of one conversation with a model that is served here, unless its profile says more."""


LOCAL_PROMPT = 900
"""Tokens above which prompts for it are made shorter: a core reads some 17 tokens a second."""
TOOL_TURNS = 6
"""Turns with tools of a model that is served elsewhere, unless its profile says more."""


class ModelProfile(EndpointSettings):
    """Which model, where, and within which limits. The default is no model: the rules decide."""

    kind: Literal["rules", "openai", "local", "replay"] = Field(
        "rules",
        description="Kind of model; rules: no model; openai: an OpenAI-compatible endpoint; "
        "local: a model file that is served on this machine; replay: a cassette.",
    )
    base_url: str | None = Field(
        None, description="URL of the endpoint, often ending in /v1; left out: OpenAI's own."
    )
    model: str | None = Field(None, description="Name of the model at the endpoint.")
    api_key_env: str | None = Field(
        None,
        description="Environment variable that holds the key; left out: OPENAI_API_KEY for "
        "OpenAI's own endpoint, no key for any other.",
    )
    timeout_s: float = Field(30.0, gt=0, le=600, description="Longest time of an attempt [s].")
    max_retries: int = Field(
        3, ge=0, le=10, description="Largest number of attempts after the first."
    )
    max_concurrency: int = Field(4, ge=1, le=1000, description="Largest number of calls at a time.")
    budget_tokens: int | None = Field(
        None, ge=0, description="Largest number of tokens used in all; left out: no limit."
    )
    budget_cost: float | None = Field(
        None, ge=0, description="Largest amount of money spent in all; left out: no limit."
    )
    price_prompt_per_mtok: float = Field(0.0, ge=0, description="Price of a million prompt tokens.")
    price_completion_per_mtok: float = Field(
        0.0, ge=0, description="Price of a million reply tokens."
    )
    cassette: Path | None = Field(None, description="Path of the cassette to replay.")
    on_miss: Literal["fail", "rule"] = Field(
        "fail",
        description="Reply to a request that the cassette does not hold: fail, or the rule's.",
    )
    record_to: Path | None = Field(
        None, description="Path of the cassette that every outcome is appended to."
    )
    temperature: float | None = Field(
        None, ge=0, le=2, description="Temperature that replaces the one that decisions ask for."
    )
    seed: int | None = Field(None, description="Seed of sampling, and of the jitter of retries.")
    mode: Mode = Field(
        "model",
        description="Mode of decisions; rule: the rule decides; model: the model decides within "
        "what the checks allow; advised: the model decides, with the rule's answer shown to it.",
    )
    modes: dict[DecisionName, Mode] = Field(
        default_factory=dict,
        description="Modes of single decisions by their names, e.g. emos.split_task: advised.",
    )
    attempts: int = Field(
        2, ge=1, le=10, description="Largest number of replies asked for by one decision."
    )
    tool_turns: int | None = Field(
        None,
        ge=0,
        le=50,
        description="Largest number of turns with tools before the reply is due; left out: none "
        f"with kind local, else {TOOL_TURNS}.",
    )
    prompt: int | None = Field(
        None,
        ge=100,
        description="Number of tokens above which prompts list less, as far as that helps; left "
        f"out: {LOCAL_PROMPT} with kind local, else no matter how many.",
    )
    cache: int = Field(
        256,
        ge=0,
        le=100_000,
        description="Largest number of replies kept for prompts that come again; 0: none.",
    )
    join: int = Field(
        8,
        ge=1,
        le=50,
        description="Largest number of independent questions of one kind in one request; 1: each "
        "goes by itself.",
    )
    ask_always: bool = Field(
        False,
        description="A model is asked also where just one reply is valid; to measure what that "
        "costs.",
    )
    vision: bool = Field(
        False,
        description="The model sees: it is shown images where they tell more, such as pictures of "
        "things and what a skill came to.",
    )
    larger: ModelProfile | None = Field(
        None,
        description="Profile of the model that is asked when the replies of this one cannot be "
        "used; left out: the rule decides then.",
    )
    reply_factor: float = Field(
        1.0,
        ge=0.1,
        le=100.0,
        description="Factor on the limit of tokens that each decision sets for its reply.",
    )
    thinking_tokens: int = Field(
        0,
        ge=0,
        le=1_000_000,
        description="Tokens for thinking on top of a reply's limit; for models that reason.",
    )
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high"] | None = Field(
        None, description="Effort of a model that reasons; left out: the endpoint's default."
    )
    file: Path | None = Field(
        None, description="Path of the GGUF file of kind local; left out: the model in the box."
    )
    threads: int = Field(
        1,
        ge=1,
        le=256,
        description="Number of threads of kind local; more than free cores makes it far slower.",
    )
    context: int | None = Field(
        None,
        ge=256,
        le=10_000_000,
        description="Number of tokens of one conversation, to which prompts are cut; left "
        f"out: {LOCAL_CONTEXT} with kind local, else unlimited.",
    )
    parallel: int = Field(
        2, ge=1, le=64, description="Number of conversations at a time with kind local."
    )

    @model_validator(mode="after")
    def _complete(self) -> ModelProfile:
        # By value: a profile that was written out names every field.
        if self.kind == "rules":
            needless = ("api_key_env", "base_url", "cassette", "larger", "model", "record_to")
            stray = [name for name in needless if self._differs(name)]
            if stray:
                raise ValueError(
                    f"kind 'rules' asks no model but {', '.join(stray)} is given; set kind: openai "
                    "(or replay), or remove it"
                )
        if self.larger is not None and self.larger.kind == "rules":
            raise ValueError("larger needs a model; leave it out where the rule decides next")
        served = ("file", "threads", "parallel")
        elsewhere = ("base_url", "api_key_env", "cassette")
        stray = [n for n in (elsewhere if self.kind == "local" else served) if self._differs(n)]
        if stray and self.kind == "local":
            raise ValueError(
                f"kind 'local' is served here, but {', '.join(stray)} is given; remove it, or set "
                "kind: openai for an endpoint that runs elsewhere"
            )
        if stray:
            raise ValueError(f"{', '.join(stray)}: only for kind 'local'; remove it")
        if self.kind == "openai" and not self.model:
            raise ValueError("kind 'openai' needs model: the name of the model at the endpoint")
        if self.kind == "openai" and self.cassette is not None:
            raise ValueError("cassette is replayed by kind 'replay'; to record one use record_to")
        if self.kind == "replay":
            if self.cassette is None:
                raise ValueError("kind 'replay' needs cassette: the file to replay")
            if self.record_to is not None:
                raise ValueError("kind 'replay' records nothing; remove record_to")
        if self.budget_cost is not None and self.kind == "openai":
            if not (self.price_prompt_per_mtok or self.price_completion_per_mtok):
                raise ValueError(
                    "budget_cost needs price_prompt_per_mtok and price_completion_per_mtok, "
                    "otherwise every call is free and the budget never ends"
                )
        return self

    def _differs(self, name: str) -> bool:
        return bool(getattr(self, name) != type(self).model_fields[name].default)

    @property
    def policy(self) -> Policy:
        """How decisions are put to the model."""
        return Policy(
            self.mode,
            self.modes,
            self.attempts,
            self.turns,
            self.conversation_tokens,
            self.prompt or (LOCAL_PROMPT if self.kind == "local" else None),
            self.join,
            gather=self.kind != "replay" and self.record_to is None,
            ask_always=self.ask_always,
        )

    @property
    def turns(self) -> int:
        """Turns with tools before the reply is due."""
        usual = 0 if self.kind == "local" else TOOL_TURNS
        return usual if self.tool_turns is None else self.tool_turns

    @property
    def conversation_tokens(self) -> int | None:
        """Tokens of prompt and reply together; None: no limit is known."""
        return self.context or (LOCAL_CONTEXT if self.kind == "local" else None)

    @property
    def decision_s(self) -> float:
        """How long a decision may take [s]: after one hang there is time for another try."""
        return 2.0 * self.timeout_s

    @property
    def chain(self) -> tuple[ModelProfile, ...]:
        """This profile, then the larger one that follows it, and so on."""
        return (self, *(self.larger.chain if self.larger is not None else ()))

    @property
    def key_variable(self) -> str | None:
        """Environment variable that holds the key; None: the endpoint needs none."""
        if self.kind != "openai":
            return None
        if self.api_key_env is None and self.base_url is None:
            return "OPENAI_API_KEY"
        return self.api_key_env


def load_profile(path: Path) -> ModelProfile:
    """Read a model profile from a YAML file.

    Args:
        path: The file, or the name of a profile of `BUILT_IN`.

    Raises:
        ProfileError: No such file, or no such profile in it; one line that names file and field.
    """
    if str(path) in BUILT_IN:
        return BUILT_IN[str(path)]
    try:
        return check(ModelProfile, load_marked(read_text(path), str(path)), str(path), [])
    except FileProblem as error:
        raise ProfileError("; ".join(str(error).splitlines())) from None


#: Profiles that every team has, by name: no model, and the model in the box. On few cores that is
#: slow: a question that was begun anew would be later still, and robots should not stand about. And
#: it is weak: lists are beyond it, it reads hardly any sentence as it is meant, and takes nearly
#: every request for a matter of taste, so that no task would begin.
BUILT_IN = {
    "rules": ModelProfile(),
    "tiny": ModelProfile.model_validate(
        {
            "kind": "local",
            "timeout_s": 20.0,
            "max_retries": 0,
            "join": 1,
            "modes": {
                "emos.reassign": "rule",
                "emos.reflect_on_share": "rule",
                "emos.split_task": "rule",
                "team.read_request": "rule",
            },
        }
    ),
}
