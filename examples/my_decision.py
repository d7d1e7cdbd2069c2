"""A decision of your own: a model is asked, and a rule answers where there is none."""

import asyncio
from collections.abc import Sequence

from pydantic import BaseModel, Field

from coterie_llm import CheckFailed, Decision, Message, ModelProfile, as_data, build_decider


class Doors(BaseModel):
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

    def check(self, state: Doors, reply: Choice) -> None:
        if reply.door not in state.behind:  # a model may reply what it likes
            raise CheckFailed(f"no door {reply.door!r}; choose one of {list(state.behind)}")

    def rule(self, state: Doors) -> Choice:
        return Choice(door=next(d for d, room in state.behind.items() if state.target in room))


decider = build_decider(ModelProfile(kind="rules"), who="rover")  # or kind="openai", base_url=...
doors = Doors(target="mug", behind={"door-1": "a bedroom", "door-2": "a kitchen with a mug"})
decided = asyncio.run(decider.decide(ChooseDoor(), doors))
print(f"{decided.reply.door}, decided by {decided.decided_by}")
