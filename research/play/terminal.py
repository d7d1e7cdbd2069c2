"""A person plays in the terminal: what one perceives, a numbered list of actions, free words."""

from __future__ import annotations

import re
from collections.abc import Callable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from coterie_console.text import plain
from coterie_requests.asking import WordsAnswer, WordsQuestion
from research.natural_order import natural
from research.play.actions import choices
from research.play.person import Choice, Group, Person
from research.play.record import QUESTIONS, SCALE, PlayError
from research.play.session import PlaySession, Quit

HEADINGS: dict[Group, str] = {
    "say": "Say",
    "do": "Do",
    "go": "Go",
    "wait": "Wait",
    "further": "Further",
}
HELP = """\
a number     do this; walks and waits go on until you arrive or something happens
any words    say them to everybody (one step; at most 500 characters)
@Bob words   say them to Bob alone
m            more: actions that are seldom of use
h            all messages so far
Enter        show everything again
q            end here; the session is saved and can be resumed (as does Ctrl-C)
?            this help"""
SHOWN = 12
"""Newest messages that are shown at every turn."""


class Terminal:
    """Asks a person in the terminal.

    Args:
        console: Where to print.
        read: Reads a line after a prompt; raises EOFError or KeyboardInterrupt at the end.
    """

    def __init__(self, console: Console, read: Callable[[str], str] = input) -> None:
        self.console, self._read = console, read
        self._heard = 0
        self._introduced = False
        self.quit = self.asking = False
        """Somebody asked for the end; a line is being read."""

    async def decide(self, person: Person) -> Choice:
        """Show what the person perceives and wait for a choice.

        Raises:
            Quit: The person ends the session.
        """
        found = choices(person)
        if not self._introduced:
            self._introduced = True
            self.console.print(Text(person.introduction, style="italic"))
        # Numbers follow the order on the screen: the seldom ones come last.
        found.sort(key=lambda c: list(HEADINGS).index(c.group))
        self.show(person)
        self._list(found, False)
        while True:
            line = self._line("> ")
            if line == "":
                self.show(person)
                self._list(found, False)
            elif line in ("?", "help"):
                self.console.print(Text(HELP))
            elif line in ("m", "more"):
                self._list(found, True)
            elif line in ("h", "history"):
                self._chat(person, len(person.chat))
            elif line in ("q", "quit", "exit"):
                raise Quit
            elif line.isdecimal() and len(line) < 6:
                number = int(line)
                if 1 <= number <= len(found):
                    return found[number - 1]
                self._refuse(f"there is no {number}; choose from 1 to {len(found)}, or ? for help")
            else:
                to, words = re.fullmatch(r"(?:@(\w+)\s*)?(.*)", line, re.DOTALL).groups()  # type: ignore[union-attr]
                try:
                    return person.message(words, to or "")
                except ValueError as error:
                    self._refuse(str(error))

    async def underway(self, person: Person) -> None:
        """Nothing is shown of the steps of a walk; an interruption ends the session."""
        if self.quit:
            raise Quit

    async def answer(self, question: WordsQuestion) -> WordsAnswer:
        """Nothing: here a person is asked for one line at a time, and for actions only."""
        return WordsAnswer(reason="the person plays in a terminal, where no questions are shown")

    def questionnaire(self, session: PlaySession, who: str) -> None:
        """Ask the questions at the end and store the answers.

        Raises:
            Quit: The person ends before the last one; nothing of it is stored.
        """
        self.console.print()
        table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
        for name, value in session.summary():
            table.add_row(name, value)
        self.console.print(Text("The episode is over.", style="bold"))
        self.console.print(table)
        answers: dict[str, int] = {}
        asked = session.record.asked()
        if asked:
            self.console.print(
                Text(f"\nHow was it? 1: strongly disagree … {SCALE}: strongly agree.", style="bold")
            )
        for name in asked:
            self.console.print(Text(QUESTIONS[name]))
            while name not in answers:
                line = self._line(f"1-{SCALE}: ")
                if line.isdecimal() and 1 <= int(line[:4]) <= SCALE:
                    answers[name] = int(line)
                else:
                    self._refuse(f"a number from 1 to {SCALE}")
        while True:
            comment = self._line("Anything to add? (Enter: nothing) ")
            try:
                session.answer(who, answers, comment)
                return
            except PlayError as error:
                self._refuse(str(error))

    def show(self, person: Person) -> None:
        """Show what the person perceives and knows."""
        percept, briefing = person.percept, person.briefing
        left = briefing.horizon - percept.step
        self.console.print()
        self.console.rule(
            Text(
                f"step {percept.step} · {left} left · {person.room(percept.spot.room)}",
                style="bold",
            )
        )
        facing = f", looking towards {percept.heading}°" if briefing.turn else ""
        table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
        table.add_column(style="dim", no_wrap=True)
        table.add_column(overflow="fold")
        goal = Text(plain(briefing.goal.name, 100))
        for words, seen, told, count in person.progress():
            more = f" (+{told} as told)" if told else ""
            goal.append(f"\n  {plain(words, 100)}  {seen} of {count}{more}")
        table.add_row("Goal", goal)
        table.add_row("Hands", Text(_hands(person)))
        table.add_row("Here", Text(_in_view(person) + facing))
        mates = ", ".join(
            plain(mate.name)
            + (f" with {' and '.join(plain(t.id) for t in mate.hands)}" if mate.hands else "")
            for mate in percept.teammates
        )
        table.add_row("With you", Text(mates or "nobody"))
        if person.news:
            table.add_row("News", Text("\n".join(person.news), style="yellow"))
        self.console.print(table)
        new = len(person.chat) - self._heard
        if new > 0:
            self._chat(person, min(new, SHOWN))
            self._heard = len(person.chat)

    # --- inside ----------------------------------------------------------------------------------

    def _line(self, prompt: str) -> str:
        try:
            self.asking = True
            if self.quit:  # looked at after `asking` is set: no Ctrl-C falls between the two
                raise Quit
            return self._read(prompt).strip()
        except (EOFError, KeyboardInterrupt):
            raise Quit from None
        finally:
            self.asking = False

    def _refuse(self, text: str) -> None:
        self.console.print(Text(text, style="red"))

    def _chat(self, person: Person, count: int) -> None:
        for note in person.chat[-count:]:
            to = f" to {', '.join(plain(name) for name in note.to)}" if note.to else ""
            line = Text(f"{plain(note.sender)}{to}: ", style="bold cyan")
            line.append(plain(note.text, 600), style="default")
            self.console.print(line)

    def _list(self, found: list[Choice], more: bool) -> None:
        width = len(str(len(found)))
        for group, heading in HEADINGS.items():
            rows = [(n, c) for n, c in enumerate(found, 1) if c.group == group]
            if not rows:
                continue
            if group == "further" and not more:
                self.console.print(Text(f"m: {len(rows)} more · words: say them · ?: help"))
                continue
            self.console.print(Text(heading, style="bold"))
            for number, choice in rows:
                line = Text(f"  {number:>{width}}  ", style="green")
                line.append(choice.text, style="default")
                self.console.print(line)


def _hands(person: Person) -> str:
    held = []
    for id_ in person.percept.hands:
        inside = ", ".join(plain(one) for one in person.inside(id_))
        held.append(plain(id_) + (f" with {inside}" if inside else ""))
    return ", ".join(held) or "empty"


def _in_view(person: Person) -> str:
    """What is in view: furniture with what is on or in it, then what lies about."""
    things = sorted(person.percept.things, key=lambda t: natural(t.id))
    hands = set(person.percept.hands)
    lying: dict[str, list[str]] = {}
    for thing in things:
        if thing.kind == "item" or thing.portable:
            if thing.id not in hands and thing.parent not in hands:
                lying.setdefault(thing.parent, []).append(plain(thing.id))
    out = []
    for thing in things:
        if thing.kind == "item" or thing.portable:
            continue
        state = {True: "open", False: "closed", None: ""}[thing.is_open]
        more = ", ".join([*([state] if state else []), *lying.pop(thing.id, [])])
        out.append(plain(thing.id) + (f" ({more})" if more else ""))
    for rest in lying.values():
        out += rest
    return ", ".join(out) or "nothing"
