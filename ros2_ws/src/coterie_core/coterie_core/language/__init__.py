"""Decisions, and the models that answer them. See docs/language.md."""

from coterie_core.language.breaker import CircuitBreaker
from coterie_core.language.budget import Budget, Budgeted
from coterie_core.language.build import build_decider, build_model
from coterie_core.language.cached import Cached
from coterie_core.language.cassette import Recording, ReplayModel
from coterie_core.language.confidence import Confidence, Probability
from coterie_core.language.decider import Decider
from coterie_core.language.decision import (
    Decided,
    Decision,
    decide_by_rule,
    messages_for,
    request_for,
)
from coterie_core.language.due import due_in
from coterie_core.language.errors import (
    BadReply,
    BudgetExceeded,
    CheckFailed,
    CircuitOpen,
    CutOff,
    LanguageError,
    MissingKey,
    ModelTimeout,
    ModelUnavailable,
    NoLocalModel,
    ProfileError,
    RateLimited,
    ReplayMiss,
    RequestRejected,
    ServerFault,
)
from coterie_core.language.extract import extract_json
from coterie_core.language.fence import DATA_RULE, as_data, inline_data, prompt_share
from coterie_core.language.limited import Limited
from coterie_core.language.meter import Metered, UsageMeter
from coterie_core.language.modes import DECISIONS, Mode, Policy, neutral_order
from coterie_core.language.openai_model import OpenAIModel
from coterie_core.language.profile import ModelProfile, load_profile
from coterie_core.language.retrying import Retrying
from coterie_core.language.rules_model import RulesModel
from coterie_core.language.tokens import Prices, estimate_tokens
from coterie_core.language.tools import Tool, ToolRefused, ToolUse
from coterie_core.language.types import (
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

__all__ = [
    "as_data",
    "BadReply",
    "Budget",
    "Budgeted",
    "BudgetExceeded",
    "build_decider",
    "build_model",
    "Cached",
    "CheckFailed",
    "CircuitBreaker",
    "CircuitOpen",
    "Confidence",
    "CutOff",
    "DATA_RULE",
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
    "MissingKey",
    "Mode",
    "ModelProfile",
    "ModelRequest",
    "ModelTimeout",
    "ModelUnavailable",
    "neutral_order",
    "NoLocalModel",
    "OpenAIModel",
    "Policy",
    "Prices",
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
