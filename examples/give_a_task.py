"""Give a team a task, and show how it goes; Ctrl-C takes the task back."""

from pathlib import Path

from coterie import Progress, Team


def show(progress: Progress) -> None:
    print(f"  {progress.stage}, {progress.done} of {progress.total} done: {progress.text}")


with Team(Path(__file__).with_name("house.yaml")) as team:
    result = team.do("Bring a mug to the kitchen counter", on_feedback=show, max_time=600.0)
    print(f"{result.outcome}: {result.message}")
    print(f"{result.achieved} of {result.wanted} in {result.simulated_seconds:.0f} simulated s")
