"""Decisions, and the models that answer them. See docs/language.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coterie_core.on_demand import on_demand

if TYPE_CHECKING:
    from coterie_llm.breaker import CircuitBreaker
    from coterie_llm.budget import Budget, Budgeted
    from coterie_llm.build import build_decider, build_model
    from coterie_llm.cassette import Recording, ReplayModel
    from coterie_llm.confidence import Confidence, Probability
    from coterie_llm.decider import Decider
    from coterie_llm.decision import (
        Decided,
        Decision,
        decide_by_rule,
        messages_for,
        request_for,
    )
    from coterie_llm.due import due_in
    from coterie_llm.errors import (
        BadReply,
        BudgetExceeded,
        CheckFailed,
        CircuitOpen,
        CutOff,
        LanguageError,
        ModelTimeout,
        ModelUnavailable,
        NoLocalModel,
        ProfileError,
        RateLimited,
        ReplayMiss,
        RequestRejected,
        ServerFault,
    )
    from coterie_llm.extract import extract_json
    from coterie_llm.fence import as_data, inline_data, prompt_share
    from coterie_llm.limited import Limited
    from coterie_llm.meter import Metered, UsageMeter
    from coterie_llm.modes import DECISIONS, Mode, Policy, neutral_order
    from coterie_llm.openai_model import OpenAIModel
    from coterie_llm.profile import ModelProfile, load_profile
    from coterie_llm.retrying import Retrying
    from coterie_llm.rules_model import RulesModel
    from coterie_llm.tokens import estimate_tokens
    from coterie_llm.tools import Tool, ToolRefused, ToolUse
    from coterie_llm.types import (
        Image,
        LanguageModel,
        Message,
        ModelRequest,
        Reply,
        ToolCall,
        ToolSpec,
        Usage,
        Wrapper,
    )
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = [
    "as_data",
    "BadReply",
    "Budget",
    "Budgeted",
    "BudgetExceeded",
    "build_decider",
    "build_model",
    "CheckFailed",
    "CircuitBreaker",
    "CircuitOpen",
    "Confidence",
    "CutOff",
    "due_in",
    "decide_by_rule",
    "Decided",
    "Decider",
    "Decision",
    "DECISIONS",
    "estimate_tokens",
    "extract_json",
    "Image",
    "inline_data",
    "LanguageError",
    "LanguageModel",
    "Limited",
    "load_profile",
    "Message",
    "messages_for",
    "Metered",
    "Mode",
    "ModelProfile",
    "ModelRequest",
    "ModelTimeout",
    "ModelUnavailable",
    "neutral_order",
    "NoLocalModel",
    "OpenAIModel",
    "Policy",
    "Probability",
    "ProfileError",
    "prompt_share",
    "RateLimited",
    "Recording",
    "ReplayMiss",
    "ReplayModel",
    "Reply",
    "request_for",
    "RequestRejected",
    "Retrying",
    "RulesModel",
    "ServerFault",
    "Tool",
    "ToolCall",
    "ToolRefused",
    "ToolSpec",
    "ToolUse",
    "Usage",
    "UsageMeter",
    "Wrapper",
]
