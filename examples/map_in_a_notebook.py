"""Read a semantic map from a file: a table and a picture of it, without ROS and without a team."""

from pathlib import Path

# %% the map: this one is in the examples; team.map().save("map.json") writes that of a team
from coterie import SemanticMap

house = SemanticMap.read(Path(__file__).with_name("house_map.json"))
print(house)

# %% its objects as a table
print(f"{'label':20} {'room':15} center [m]")
for thing in house.objects:
    print(f"{thing.label:20} {thing.room:15} {thing.center}")

# %% what a request calls for
for thing in house.find("something to sit on", limit=3):
    print(thing)

# %% rooms and objects as a picture
picture = Path("house_map.png").resolve()
house.draw().savefig(picture, dpi=150)
print(f"the picture: {picture}")
