"""Why a URDF was refused: which element of which file, what was expected, and the remedy."""

from __future__ import annotations


class UrdfError(ValueError):
    """A URDF from which no resume can be made.

    Args:
        problem: What came and what was expected instead.
        element: The element concerned, such as `joint "elbow"`; empty: the whole file.
        remedy: What to do about it.
        file: Name of the file; empty: the text came without one.
    """

    def __init__(
        self, problem: str, *, element: str = "", remedy: str = "", file: str = ""
    ) -> None:
        self.file = file
        self.element = element
        self.problem = problem
        self.remedy = remedy
        where = ": ".join(part for part in (file or "URDF", element) if part)
        super().__init__(f"{where}: {problem}" + (f"; {remedy}" if remedy else ""))

    def within(self, file: str) -> UrdfError:
        """Return the same error with the name of the file."""
        return UrdfError(self.problem, element=self.element, remedy=self.remedy, file=file)
