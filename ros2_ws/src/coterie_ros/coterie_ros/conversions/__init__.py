"""Core types to ROS messages and back, in pairs: `x_to_msg` and `x_from_msg`.

`*_from_msg` trusts nothing: a number that is not finite, an unknown enumerator, a text that is too
long or a confidence out of range raises ConversionError, which names topic, field, what was
expected and what came.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coterie_core.on_demand import on_demand

if TYPE_CHECKING:
    from coterie_ros.conversions.basics import (
        duration_from_msg,
        duration_to_msg,
        header,
        point_from_msg,
        point_to_msg,
        pose_from_msg,
        pose_to_msg,
        time_from_msg,
        time_to_msg,
    )
    from coterie_ros.conversions.body import embodiment_from_msg, resume_from_msg, resume_to_msg
    from coterie_ros.conversions.checks import Checks, ConversionError
    from coterie_ros.conversions.clouds import instances_to_cloud
    from coterie_ros.conversions.debate import (
        call_to_speak,
        checked_debate_turn,
        conversation_from_msg,
        utterance_from_msg,
        utterance_to_msg,
    )
    from coterie_ros.conversions.detections import (
        DetectedBoxes,
        DetectedImage,
        LabelInfo,
        boxes_from_vision_msg,
        boxes_to_vision_msg,
        detections_from_msg,
        detections_from_vision_msg,
        detections_to_msg,
        labels_from_msg,
    )
    from coterie_ros.conversions.frames import (
        MAP,
        base_frame,
        camera_transforms,
        compose,
        odom_frame,
        odometry_from_msg,
        odometry_to_msg,
        optical_frame,
        relative,
        rigid_to_msg,
        transform_to_msg,
        transforms_from_msg,
    )
    from coterie_ros.conversions.grids import grid_from_msg, grid_to_msg
    from coterie_ros.conversions.hardware import (
        battery_to_msg,
        estimated_pose_to_msg,
        joint_states_to_msg,
        label_info_to_msg,
        packed_color_to_msg,
        packed_depth_to_msg,
        scan_to_msg,
    )
    from coterie_ros.conversions.images import (
        camera_info_to_msg,
        cloud_to_msg,
        color_from_msg,
        depth_from_msg,
        depth_to_points,
        image_from_msg,
        image_to_msg,
        intrinsics_from_msg,
        semantic_labels_to_msg,
    )
    from coterie_ros.conversions.markers import objects_to_markers, rooms_to_markers
    from coterie_ros.conversions.object_events import object_event_from_msg, object_event_to_msg
    from coterie_ros.conversions.open import open_answer_from_msg, open_answer_to_msg
    from coterie_ros.conversions.perception import (
        observation_from_msg,
        observation_to_msg,
    )
    from coterie_ros.conversions.scene import (
        scene_from_msg,
        scene_to_msg,
    )
    from coterie_ros.conversions.skills import (
        manipulate_from_msg,
        manipulate_to_msg,
        navigate_from_msg,
        navigate_result_to_msg,
        navigate_to_msg,
        position_on_way,
        skill_result_from_msg,
        skill_result_to_msg,
        stamped_pose,
        why_from_msg,
        with_why,
    )
    from coterie_ros.conversions.talk import (
        answer_from_msg,
        answer_to_msg,
        checked_team_message,
        checked_turn,
        deadline_from_msg,
        final_answer_from_msg,
        final_answer_to_msg,
        label_from_msg,
        label_to_msg,
        question_from_msg,
        question_to_msg,
        yield_request_from_msg,
        yield_request_to_msg,
    )
    from coterie_ros.conversions.tasks import (
        LEADER,
        assignment_from_msg,
        assignment_to_msg,
        proposal_from_msg,
        proposal_to_msg,
        reflection_from_msg,
        reflection_to_msg,
        report_from_msg,
        report_to_msg,
    )
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = [
    "LEADER",
    "assignment_from_msg",
    "assignment_to_msg",
    "proposal_from_msg",
    "proposal_to_msg",
    "reflection_from_msg",
    "reflection_to_msg",
    "report_from_msg",
    "report_to_msg",
    "utterance_to_msg",
    "utterance_from_msg",
    "conversation_from_msg",
    "call_to_speak",
    "Checks",
    "ConversionError",
    "DetectedBoxes",
    "DetectedImage",
    "MAP",
    "answer_from_msg",
    "answer_to_msg",
    "base_frame",
    "battery_to_msg",
    "estimated_pose_to_msg",
    "joint_states_to_msg",
    "label_info_to_msg",
    "LabelInfo",
    "packed_color_to_msg",
    "packed_depth_to_msg",
    "scan_to_msg",
    "boxes_from_vision_msg",
    "boxes_to_vision_msg",
    "camera_info_to_msg",
    "camera_transforms",
    "checked_team_message",
    "checked_turn",
    "checked_debate_turn",
    "cloud_to_msg",
    "color_from_msg",
    "compose",
    "depth_from_msg",
    "depth_to_points",
    "deadline_from_msg",
    "duration_from_msg",
    "duration_to_msg",
    "detections_from_msg",
    "detections_from_vision_msg",
    "detections_to_msg",
    "embodiment_from_msg",
    "final_answer_from_msg",
    "final_answer_to_msg",
    "grid_from_msg",
    "grid_to_msg",
    "header",
    "image_from_msg",
    "image_to_msg",
    "semantic_labels_to_msg",
    "instances_to_cloud",
    "intrinsics_from_msg",
    "label_from_msg",
    "label_to_msg",
    "labels_from_msg",
    "manipulate_from_msg",
    "manipulate_to_msg",
    "navigate_from_msg",
    "navigate_result_to_msg",
    "navigate_to_msg",
    "position_on_way",
    "stamped_pose",
    "objects_to_markers",
    "object_event_from_msg",
    "object_event_to_msg",
    "observation_from_msg",
    "observation_to_msg",
    "odom_frame",
    "odometry_from_msg",
    "odometry_to_msg",
    "optical_frame",
    "open_answer_from_msg",
    "open_answer_to_msg",
    "point_from_msg",
    "point_to_msg",
    "pose_from_msg",
    "pose_to_msg",
    "question_from_msg",
    "question_to_msg",
    "relative",
    "rigid_to_msg",
    "resume_from_msg",
    "resume_to_msg",
    "rooms_to_markers",
    "scene_from_msg",
    "scene_to_msg",
    "skill_result_from_msg",
    "skill_result_to_msg",
    "time_from_msg",
    "time_to_msg",
    "transform_to_msg",
    "transforms_from_msg",
    "yield_request_from_msg",
    "yield_request_to_msg",
    "why_from_msg",
    "with_why",
]
