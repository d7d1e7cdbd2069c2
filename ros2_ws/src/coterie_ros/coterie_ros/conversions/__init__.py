"""Core types to ROS messages and back, in pairs: `x_to_msg` and `x_from_msg`.

`*_from_msg` trusts nothing: a number that is not finite, an unknown enumerator, a text that is too
long or a confidence out of range raises ConversionError, which names topic, field, what was
expected and what came.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coterie_core.on_demand import on_demand

if TYPE_CHECKING:
    from coterie_core.geometry import compose as compose
    from coterie_core.geometry import relative as relative
    from coterie_ros.conversions.basics import duration_from_msg as duration_from_msg
    from coterie_ros.conversions.basics import duration_to_msg as duration_to_msg
    from coterie_ros.conversions.basics import header as header
    from coterie_ros.conversions.basics import point_from_msg as point_from_msg
    from coterie_ros.conversions.basics import point_to_msg as point_to_msg
    from coterie_ros.conversions.basics import pose_from_msg as pose_from_msg
    from coterie_ros.conversions.basics import pose_to_msg as pose_to_msg
    from coterie_ros.conversions.basics import time_from_msg as time_from_msg
    from coterie_ros.conversions.basics import time_to_msg as time_to_msg
    from coterie_ros.conversions.body import embodiment_from_msg as embodiment_from_msg
    from coterie_ros.conversions.body import resume_from_msg as resume_from_msg
    from coterie_ros.conversions.body import resume_to_msg as resume_to_msg
    from coterie_ros.conversions.checks import Checks as Checks
    from coterie_ros.conversions.checks import ConversionError as ConversionError
    from coterie_ros.conversions.debate import call_to_speak as call_to_speak
    from coterie_ros.conversions.debate import checked_debate_turn as checked_debate_turn
    from coterie_ros.conversions.debate import conversation_from_msg as conversation_from_msg
    from coterie_ros.conversions.debate import utterance_from_msg as utterance_from_msg
    from coterie_ros.conversions.debate import utterance_to_msg as utterance_to_msg
    from coterie_ros.conversions.detections import DETECTION_READERS as DETECTION_READERS
    from coterie_ros.conversions.detections import DetectedBoxes as DetectedBoxes
    from coterie_ros.conversions.detections import DetectedImage as DetectedImage
    from coterie_ros.conversions.detections import LabelInfo as LabelInfo
    from coterie_ros.conversions.detections import boxes_from_vision_msg as boxes_from_vision_msg
    from coterie_ros.conversions.detections import boxes_to_vision_msg as boxes_to_vision_msg
    from coterie_ros.conversions.detections import detection_type as detection_type
    from coterie_ros.conversions.detections import detections_from_msg as detections_from_msg
    from coterie_ros.conversions.detections import (
        detections_from_vision_msg as detections_from_vision_msg,
    )
    from coterie_ros.conversions.detections import detections_to_msg as detections_to_msg
    from coterie_ros.conversions.detections import (
        detections_to_vision_msg as detections_to_vision_msg,
    )
    from coterie_ros.conversions.detections import hypotheses_to_msg as hypotheses_to_msg
    from coterie_ros.conversions.detections import labels_from_msg as labels_from_msg
    from coterie_ros.conversions.frames import MAP as MAP
    from coterie_ros.conversions.frames import base_frame as base_frame
    from coterie_ros.conversions.frames import camera_transforms as camera_transforms
    from coterie_ros.conversions.frames import odom_frame as odom_frame
    from coterie_ros.conversions.frames import odometry_from_msg as odometry_from_msg
    from coterie_ros.conversions.frames import odometry_to_msg as odometry_to_msg
    from coterie_ros.conversions.frames import optical_frame as optical_frame
    from coterie_ros.conversions.frames import rigid_to_msg as rigid_to_msg
    from coterie_ros.conversions.frames import transform_to_msg as transform_to_msg
    from coterie_ros.conversions.frames import transforms_from_msg as transforms_from_msg
    from coterie_ros.conversions.grids import grid_from_msg as grid_from_msg
    from coterie_ros.conversions.grids import grid_to_msg as grid_to_msg
    from coterie_ros.conversions.hardware import battery_to_msg as battery_to_msg
    from coterie_ros.conversions.hardware import estimated_pose_to_msg as estimated_pose_to_msg
    from coterie_ros.conversions.hardware import joint_states_to_msg as joint_states_to_msg
    from coterie_ros.conversions.hardware import label_info_to_msg as label_info_to_msg
    from coterie_ros.conversions.hardware import packed_color_to_msg as packed_color_to_msg
    from coterie_ros.conversions.hardware import packed_depth_to_msg as packed_depth_to_msg
    from coterie_ros.conversions.hardware import scan_to_msg as scan_to_msg
    from coterie_ros.conversions.images import camera_info_to_msg as camera_info_to_msg
    from coterie_ros.conversions.images import cloud_to_msg as cloud_to_msg
    from coterie_ros.conversions.images import color_from_msg as color_from_msg
    from coterie_ros.conversions.images import depth_from_msg as depth_from_msg
    from coterie_ros.conversions.images import depth_to_points as depth_to_points
    from coterie_ros.conversions.images import image_from_msg as image_from_msg
    from coterie_ros.conversions.images import image_to_msg as image_to_msg
    from coterie_ros.conversions.images import intrinsics_from_msg as intrinsics_from_msg
    from coterie_ros.conversions.images import semantic_labels_to_msg as semantic_labels_to_msg
    from coterie_ros.conversions.markers import instances_to_cloud as instances_to_cloud
    from coterie_ros.conversions.markers import objects_to_markers as objects_to_markers
    from coterie_ros.conversions.markers import rooms_to_markers as rooms_to_markers
    from coterie_ros.conversions.perception import object_event_from_msg as object_event_from_msg
    from coterie_ros.conversions.perception import object_event_to_msg as object_event_to_msg
    from coterie_ros.conversions.perception import observation_from_msg as observation_from_msg
    from coterie_ros.conversions.perception import observation_to_msg as observation_to_msg
    from coterie_ros.conversions.scene import scene_from_msg as scene_from_msg
    from coterie_ros.conversions.scene import scene_to_msg as scene_to_msg
    from coterie_ros.conversions.skills import manipulate_from_msg as manipulate_from_msg
    from coterie_ros.conversions.skills import manipulate_to_msg as manipulate_to_msg
    from coterie_ros.conversions.skills import navigate_from_msg as navigate_from_msg
    from coterie_ros.conversions.skills import navigate_result_to_msg as navigate_result_to_msg
    from coterie_ros.conversions.skills import navigate_to_msg as navigate_to_msg
    from coterie_ros.conversions.skills import position_on_way as position_on_way
    from coterie_ros.conversions.skills import skill_result_from_msg as skill_result_from_msg
    from coterie_ros.conversions.skills import skill_result_to_msg as skill_result_to_msg
    from coterie_ros.conversions.skills import stamped_pose as stamped_pose
    from coterie_ros.conversions.skills import why_from_msg as why_from_msg
    from coterie_ros.conversions.skills import with_why as with_why
    from coterie_ros.conversions.talk import answer_from_msg as answer_from_msg
    from coterie_ros.conversions.talk import answer_to_msg as answer_to_msg
    from coterie_ros.conversions.talk import checked_team_message as checked_team_message
    from coterie_ros.conversions.talk import checked_turn as checked_turn
    from coterie_ros.conversions.talk import deadline_from_msg as deadline_from_msg
    from coterie_ros.conversions.talk import final_answer_from_msg as final_answer_from_msg
    from coterie_ros.conversions.talk import final_answer_to_msg as final_answer_to_msg
    from coterie_ros.conversions.talk import label_from_msg as label_from_msg
    from coterie_ros.conversions.talk import label_to_msg as label_to_msg
    from coterie_ros.conversions.talk import open_answer_from_msg as open_answer_from_msg
    from coterie_ros.conversions.talk import open_answer_to_msg as open_answer_to_msg
    from coterie_ros.conversions.talk import question_from_msg as question_from_msg
    from coterie_ros.conversions.talk import question_to_msg as question_to_msg
    from coterie_ros.conversions.talk import request_from_msg as request_from_msg
    from coterie_ros.conversions.talk import yield_request_from_msg as yield_request_from_msg
    from coterie_ros.conversions.talk import yield_request_to_msg as yield_request_to_msg
    from coterie_ros.conversions.tasks import LEADER as LEADER
    from coterie_ros.conversions.tasks import assignment_from_msg as assignment_from_msg
    from coterie_ros.conversions.tasks import assignment_to_msg as assignment_to_msg
    from coterie_ros.conversions.tasks import proposal_from_msg as proposal_from_msg
    from coterie_ros.conversions.tasks import proposal_to_msg as proposal_to_msg
    from coterie_ros.conversions.tasks import reflection_from_msg as reflection_from_msg
    from coterie_ros.conversions.tasks import reflection_to_msg as reflection_to_msg
    from coterie_ros.conversions.tasks import report_from_msg as report_from_msg
    from coterie_ros.conversions.tasks import report_to_msg as report_to_msg
else:
    __getattr__, __dir__ = on_demand(__name__)
