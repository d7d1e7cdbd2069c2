"""Scene graphs: rooms, places, objects and agents of a house."""

from coterie_world.scene.graph import SceneGraph as SceneGraph
from coterie_world.scene.graph import free_id as free_id
from coterie_world.scene.merge import absorb as absorb
from coterie_world.scene.merge import associate as associate
from coterie_world.scene.merge import label_agreement as label_agreement
from coterie_world.scene.merge import merge as merge
from coterie_world.scene.merge import size_similarity as size_similarity
from coterie_world.scene.model import AgentState as AgentState
from coterie_world.scene.model import Connection as Connection
from coterie_world.scene.model import Floor as Floor
from coterie_world.scene.model import LabelBelief as LabelBelief
from coterie_world.scene.model import Place as Place
from coterie_world.scene.model import PlaceLink as PlaceLink
from coterie_world.scene.model import Receptacle as Receptacle
from coterie_world.scene.model import Room as Room
from coterie_world.scene.model import SceneObject as SceneObject
from coterie_world.scene.model import Sighting as Sighting
from coterie_world.scene.serial import SceneError as SceneError
from coterie_world.scene.serial import checked as checked
from coterie_world.scene.serial import from_json as from_json
from coterie_world.scene.serial import load as load
from coterie_world.scene.serial import save as save
from coterie_world.scene.serial import to_json as to_json
from coterie_world.scene.text import rooms_text as rooms_text
