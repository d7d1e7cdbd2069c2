"""A decision of your own: a model is asked, and a rule answers where there is none."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from coterie_llm import Decision, Message, ModelProfile, as_data, build_decider


@dataclass(frozen=True)
class Doors:
    target: str
    behind: dict[str, str]  # id of a door -> what is known of the room behind it


class Choice(BaseModel):
    door: str = Field(description="id of the door to take")


class ChooseDoor(Decision[Doors, Choice]):
    name = "example.choose_door"
    reply_type = Choice

    def prompt(self, state: Doors) -> Sequence[Message]:
        question = f"Which door leads to it? {as_data('object', state.target)}"
        return (Message.user(f"{question}\n{as_data('doors', state.behind)}"),)

    def options(self, state: Doors) -> Mapping[str, Sequence[str]]:
        return {"door": list(state.behind)}  # a reply that names another door is refused

    def rule(self, state: Doors) -> Choice:
        return Choice(door=next(d for d, room in state.behind.items() if state.target in room))


decider = build_decider(ModelProfile(kind="rules"), who="rover")  # or kind="openai", base_url=...
doors = Doors("mug", {"door-1": "a bedroom", "door-2": "a kitchen with a mug"})
decided = asyncio.run(decider.decide(ChooseDoor(), doors))
print(f"{decided.reply.door}, decided by {decided.decided_by}")
