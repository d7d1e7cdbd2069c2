"""Ask a team questions: it is joined where it runs, and started where it does not."""

from pathlib import Path

from coterie import Team

with Team(Path(__file__).with_name("house.yaml")) as team:
    team.on_event(lambda event: print(f"  {event.who}: {event.kind} {event.text}"))
    answer = team.ask("Is there an oven in the kitchen?")
    print(f"{answer.text}, {answer.confidence:.0%} sure{', a guess' if answer.guessed else ''}")
    for one in answer.robots:
        print(f"  {one.robot}: {one.text}, because {one.explanation}")
    print(team.why())  # who decided what, by which rule or model, and from which looks
    for thing in team.find("something to sit on", limit=3):
        print(thing)
