"""Read a semantic map from a file: a table and a picture of it, without ROS and without a team."""

from pathlib import Path

# %% the map: this one is in the examples; team.map().save("map.json") writes that of a team
from coterie import SemanticMap

house = SemanticMap.read(Path(__file__).with_name("house_map.json"))

# %% its objects as a table
print(f"{'label':20} {'room':15} center [m]")
for thing in house.objects:
    print(f"{thing.label:20} {thing.room:15} {thing.center}")
print([thing.label for thing in house.find("something to sit on", limit=3)])

# %% rooms and objects as a picture
import matplotlib.pyplot as plt  # noqa: E402

figure, axes = plt.subplots(figsize=(8, 6), layout="constrained")
for room in house.rooms:
    axes.fill(*zip(*room.outline, strict=True), alpha=0.2)
    axes.annotate(room.name, room.outline[0])
for thing in house.objects:
    axes.plot(*thing.center[:2], "k.")
    axes.annotate(thing.label, thing.center[:2], fontsize=6)
axes.set_aspect("equal")
figure.savefig("house_map.png", dpi=150)
