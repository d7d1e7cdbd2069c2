"""Budgets of tokens and money that hold: reserved before a call, settled after it."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass

from coterie_llm.errors import BudgetExceeded, LanguageError
from coterie_llm.tokens import FREE, Prices, estimate_prompt, estimate_tokens, most_prompt
from coterie_llm.types import LanguageModel, ModelRequest, Reply, Usage, Wrapper


@dataclass(frozen=True)
class Reservation:
    """What a call holds of a budget until it is settled."""

    tokens: int
    cost: float


class Budget:
    """An amount of tokens and of money, shared by all robots that hold the object. Thread-safe.

    Spent and reserved together never exceed a limit, as long as no call uses more than its
    reservation. A reservation is an upper bound for the prompt plus the most tokens the reply may
    have; should an endpoint report more all the same, the excess is booked and later reservations
    grow by the worst ratio seen.

    Args:
        tokens: Limit [tokens]; None: no limit.
        cost: Limit [currency of the profile]; None: no limit.
    """

    def __init__(self, *, tokens: int | None = None, cost: float | None = None) -> None:
        self.limit_tokens = tokens
        self.limit_cost = cost
        self._lock = threading.Lock()
        self._spent = Usage()
        self._reserved_tokens = 0
        self._reserved_cost = 0.0
        self._worst_ratio = 1.0
        self._refused = False

    @property
    def spent(self) -> Usage:
        """What settled calls used."""
        with self._lock:
            return self._spent

    @property
    def remaining_tokens(self) -> int | None:
        """Tokens neither spent nor reserved, at least 0; None without a limit."""
        with self._lock:
            if self.limit_tokens is None:
                return None
            return max(0, self.limit_tokens - self._spent.tokens - self._reserved_tokens)

    @property
    def remaining_cost(self) -> float | None:
        """Money neither spent nor reserved, at least 0; None without a limit."""
        with self._lock:
            if self.limit_cost is None:
                return None
            return max(0.0, self.limit_cost - self._spent.cost - self._reserved_cost)

    @property
    def used_up(self) -> bool:
        """Whether the latest call did not fit any more: what is left does not pay for it."""
        with self._lock:
            return self._refused

    def reserve(self, tokens: int, cost: float) -> Reservation:
        """Set an amount aside.

        Raises:
            BudgetExceeded: It is more than what is left.
        """
        with self._lock:
            tokens = math.ceil(tokens * self._worst_ratio)
            cost = cost * self._worst_ratio
            used = self._spent.tokens + self._reserved_tokens
            self._refused = True
            if self.limit_tokens is not None and used + tokens > self.limit_tokens:
                raise BudgetExceeded(
                    f"the call may use {tokens} tokens, but of the budget of {self.limit_tokens} "
                    f"{self._spent.tokens} are spent and {self._reserved_tokens} reserved; "
                    "raise budget_tokens or let the rules decide"
                )
            used_cost = self._spent.cost + self._reserved_cost
            if self.limit_cost is not None and used_cost + cost > self.limit_cost:
                raise BudgetExceeded(
                    f"the call may cost {cost:.6g}, but of the budget of {self.limit_cost:.6g} "
                    f"{self._spent.cost:.6g} is spent and {self._reserved_cost:.6g} reserved; "
                    "raise budget_cost or let the rules decide"
                )
            self._reserved_tokens += tokens
            self._reserved_cost += cost
            self._refused = False
            return Reservation(tokens, cost)

    def settle(self, held: Reservation, used: Usage) -> None:
        """Give a reservation back and book what was really used."""
        with self._lock:
            self._reserved_tokens -= held.tokens
            self._reserved_cost = max(0.0, self._reserved_cost - held.cost)
            self._spent = self._spent + used
            if used.tokens > held.tokens > 0:
                self._worst_ratio *= used.tokens / held.tokens


class Budgeted(Wrapper):
    """Lets a call through only if its budget can pay for the worst case.

    What a failed call costs: what the endpoint reported, if it did; the whole reservation if the
    endpoint may have produced tokens before the connection was lost or the call cancelled;
    otherwise nothing.

    Args:
        inner: The model.
        budget: Budget whose limits hold.
        prices: Prices of the model, for limits of cost.
    """

    def __init__(self, inner: LanguageModel, budget: Budget, *, prices: Prices = FREE) -> None:
        super().__init__(inner)
        self.budget = budget
        self._prices = prices

    async def complete(self, request: ModelRequest) -> Reply:
        """Answer the request within the budget.

        Raises:
            BudgetExceeded: Not asked; the worst case exceeds what is left.
            LanguageError: The inner model's, with `usage` set to what was booked for it.
        """
        worst = self._prices.usage(most_prompt(request), request.max_tokens, estimated=True)
        held = self.budget.reserve(worst.tokens, worst.cost)
        booked = worst  # stands when the call is cancelled: it may have been billed
        try:
            reply = await self.inner.complete(request)
            booked = self._used(request, reply)
            return reply
        except LanguageError as error:
            if not error.usage.tokens and error.maybe_billed:
                error.usage = worst
            booked = error.usage
            raise
        finally:
            self.budget.settle(held, booked)

    def _used(self, request: ModelRequest, reply: Reply) -> Usage:
        used = reply.usage
        if not used.tokens:
            return self._prices.usage(
                estimate_prompt(request), estimate_tokens(reply.text), estimated=True
            )
        cost = max(used.cost, self._prices.cost(used.prompt_tokens, used.completion_tokens))
        return Usage(used.prompt_tokens, used.completion_tokens, cost, used.estimated)


def budget_of(model: LanguageModel | None) -> Budget | None:
    """Return the budget that a model's calls are paid from; None: it has no limit."""
    while isinstance(model, Wrapper):
        if isinstance(model, Budgeted):
            return model.budget
        model = model.inner
    return None
