"""Decisions, and the models that answer them. See docs/language.md."""

from coterie_core.language.decision import Decided, Decider, Decision, decide_by_rule
from coterie_core.language.errors import (
    BadReply,
    BudgetExceeded,
    CheckFailed,
    CircuitOpen,
    LanguageError,
    MissingKey,
    ModelTimeout,
    ModelUnavailable,
    RateLimited,
    ReplayMiss,
    RequestRejected,
    ServerFault,
)
from coterie_core.language.extract import extract_json
from coterie_core.language.fence import DATA_RULE, as_data, inline_data
from coterie_core.language.types import (
    Image,
    LanguageModel,
    Message,
    ModelRequest,
    Reply,
    RulesModel,
    ToolCall,
    ToolSpec,
    Usage,
)

__all__ = [
    "as_data",
    "BadReply",
    "BudgetExceeded",
    "CheckFailed",
    "CircuitOpen",
    "DATA_RULE",
    "decide_by_rule",
    "Decided",
    "Decider",
    "Decision",
    "extract_json",
    "Image",
    "inline_data",
    "LanguageError",
    "LanguageModel",
    "Message",
    "MissingKey",
    "ModelRequest",
    "ModelTimeout",
    "ModelUnavailable",
    "RateLimited",
    "ReplayMiss",
    "Reply",
    "RequestRejected",
    "RulesModel",
    "ServerFault",
    "ToolCall",
    "ToolSpec",
    "Usage",
]
