"""Writes the robots' URDFs anew."""

from coterie_description import FOLDER
from coterie_description.robots import ROBOTS

for name, make in ROBOTS.items():
    (FOLDER / f"{name}.urdf").write_text(make().text(), encoding="utf-8")
