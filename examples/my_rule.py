"""Robots answer by a rule of your own: my_rule.yaml names the function below."""

import os
from pathlib import Path

from coterie import Team
from mele_explorer.answer_presence import PresenceReply, PresenceState


def seen_twice(state: PresenceState) -> PresenceReply:
    """Say yes to what was seen at least twice, and no to all else."""
    times = state.evidence.sightings
    answer = "yes" if times > 1 else "no"
    return PresenceReply(reason=f"seen {times} times", answer=answer, confidence=0.9)


if __name__ == "__main__":
    here = Path(__file__).parent
    # The team's processes find the function by the path of modules that they inherit.
    os.environ["PYTHONPATH"] = f"{here}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    with Team(here / "my_rule.yaml") as team:
        answer = team.ask("Is there a mug in the kitchen?", explore=False)
        for one in answer.robots:
            print(f"{one.robot}: {one.text}, because {one.explanation}")
        print(f"the team: {answer.text}, as {answer.method} decides")
