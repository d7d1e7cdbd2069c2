"""Parameters of the semantic mapper's node."""

from __future__ import annotations

from coterie_ros.model import EMBEDDER_PARAMETER, MODEL_PARAMETER
from coterie_ros.parameters import ParameterSpec, specs_of
from coterie_ros.team_memory import MEMORY_PARAMETERS
from semantic_mapper.options import MapperSettings

MAPPER_PARAMETERS = (
    ParameterSpec(
        "robots",
        [],
        "Names of the robots whose cameras are mapped or whose maps are merged; empty is refused.",
    ),
    ParameterSpec(
        "cameras",
        ["camera"],
        "Names of the cameras; robot/camera names a camera of that robot only.",
    ),
    ParameterSpec(
        "output",
        "",
        "Prefix of the topics published, such as a robot's name; empty: the team's topics.",
    ),
    ParameterSpec(
        "merge",
        False,
        "The node merges the maps <robot>/semantic_map of other mappers and makes none itself.",
    ),
    ParameterSpec("map_frame", "map", "Coordinate frame of the map."),
    ParameterSpec(
        "depth_topic",
        "{robot}/{camera}/depth/image_raw",
        "Topic of depth images, registered to color and rectified.",
    ),
    ParameterSpec(
        "info_topic",
        "{robot}/{camera}/depth/camera_info",
        "Topic of the depth images' camera model.",
    ),
    ParameterSpec("color_topic", "{robot}/{camera}/color/image_raw", "Topic of color images."),
    ParameterSpec(
        "detections_topic", "{robot}/{camera}/detections", "Topic of the detector's results."
    ),
    ParameterSpec(
        "detections_type",
        "coterie",
        "Message type of detections: coterie_msgs/ImageDetections or Detection2DArray.",
        choices=("coterie", "vision_msgs"),
    ),
    ParameterSpec(
        "boxes_topic",
        "",
        "Topic of vision_msgs/Detection3DArray: boxes in space, of a detector; empty: none.",
    ),
    ParameterSpec(
        "image_rate",
        30.0,
        "Highest rate at which the images of one topic are read; others are dropped unread.",
        "Hz",
        minimum=0.1,
        maximum=1000.0,
    ),
    ParameterSpec(
        "class_labels",
        "",
        "Labels by class id as JSON, for vision_msgs; empty: ids are labels.",
        json=True,
    ),
    ParameterSpec(
        "ignore",
        ["wall", "floor", "ceiling", "person", "robot"],
        "Labels that are not mapped as objects.",
    ),
    ParameterSpec(
        "pair_tolerance",
        0.02,
        "Largest difference of stamps between images of one frame.",
        "s",
        minimum=0.0,
        maximum=1.0,
    ),
    ParameterSpec(
        "transform_patience",
        1.0,
        "Time that a frame waits for its transform.",
        "s",
        minimum=0.0,
        maximum=60.0,
    ),
    ParameterSpec(
        "still_period",
        1.0,
        "Time between mapped frames of a camera that does not move.",
        "s",
        minimum=0.0,
        maximum=3600.0,
    ),
    ParameterSpec(
        "queue",
        10,
        "Largest number of frames that wait; the oldest are dropped.",
        minimum=1,
        maximum=1000,
    ),
    *specs_of(MapperSettings),
    ParameterSpec(
        "least_share",
        0.15,
        "Smallest fraction of the viewpoints on a place that must report an object there.",
        minimum=0.0,
        maximum=1.0,
    ),
    ParameterSpec(
        "least_share_large",
        0.3,
        "The same for furniture and fixtures, which detectors miss less often.",
        minimum=0.0,
        maximum=1.0,
    ),
    ParameterSpec(
        "most_points",
        2000,
        "Largest number of points kept per object.",
        minimum=10,
        maximum=100_000,
    ),
    ParameterSpec("grid", True, "An occupancy grid is published for each floor."),
    ParameterSpec(
        "grid_cell", 0.05, "Edge of an occupancy grid's cells.", "m", minimum=0.01, maximum=1.0
    ),
    ParameterSpec(
        "publish_period",
        1.0,
        "Time between maps, where they change.",
        "s",
        minimum=0.1,
        maximum=600.0,
    ),
    ParameterSpec(
        "points_period",
        5.0,
        "Time between point clouds and occupancy grids, where they change.",
        "s",
        minimum=0.1,
        maximum=600.0,
    ),
    ParameterSpec(
        "prior_map",
        "prior_map",
        "Topic of the map that is known beforehand; {robot} stands for each robot; empty: none.",
    ),
    ParameterSpec(
        "prior_file",
        "",
        "Path of a map that is known beforehand (our JSON, spark-dsg, Voxeland); empty: none.",
    ),
    ParameterSpec(
        "prior_patience",
        0.0,
        "Time that the first map waits for the prior map; 0: it does not wait.",
        "s",
        minimum=0.0,
        maximum=600.0,
    ),
    ParameterSpec("keep_prior", True, "Objects of the prior map are in the map, with their ids."),
    ParameterSpec(
        "state_directory", "", "Folder of the mapper's state and saved maps; empty: none are kept."
    ),
    ParameterSpec(
        "save_period",
        30.0,
        "Time between saves of the mapper's state.",
        "s",
        minimum=0.5,
        maximum=3600.0,
    ),
    EMBEDDER_PARAMETER,
    MODEL_PARAMETER,
    *MEMORY_PARAMETERS,
)
