"""Permits: no physical goal begins without one, and no model can make one."""

from coterie_safety.permits.answer import (
    Decision,
    KeyProblem,
    SignedAnswer,
    answered,
    load_key,
    make_key,
    public_half,
    revoked,
)
from coterie_safety.permits.gate import PermitError, PermitGate
from coterie_safety.permits.goal_scope import TASK, PermitGoal, Surroundings, TeamTask
from coterie_safety.permits.policy import Permits, RobotPermits
from coterie_safety.permits.request import Permit, PermitRequest

__all__ = [
    "TASK",
    "Decision",
    "KeyProblem",
    "Permit",
    "PermitError",
    "PermitGate",
    "PermitGoal",
    "PermitRequest",
    "Permits",
    "RobotPermits",
    "SignedAnswer",
    "Surroundings",
    "TeamTask",
    "answered",
    "load_key",
    "make_key",
    "public_half",
    "revoked",
]
