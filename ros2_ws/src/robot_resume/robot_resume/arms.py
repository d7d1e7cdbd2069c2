"""The manipulation section: arms, their grippers and where they reach."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from coterie_core.kinematics.chain import Chain
from coterie_core.kinematics.collision import SelfCollision
from coterie_core.kinematics.hands import grasp_of
from coterie_core.kinematics.limbs import Limb
from coterie_core.resume import ArmJoint, Gripper, ResumeArm
from coterie_core.urdf.tree import Joint, plain
from robot_resume.locomotion import Scene
from robot_resume.mobility import Stance
from robot_resume.reach import Prober, workspace_of

Array = npt.NDArray[np.float64]

_LEFT = re.compile(r"(^|[_.])(l|left)([_.0-9]|$)|left")
_RIGHT = re.compile(r"(^|[_.])(r|right)([_.0-9]|$)|right")
_MOST_FINGER_JOINTS = 6
_MOST_VALUES = 12_000_000


@dataclass
class ArmModel:
    """An arm as kinematics sees it."""

    name: str
    limb: Limb
    tip: str
    offset: Array
    chain: Chain
    prober: Prober
    why: str
    warnings: list[str] = field(default_factory=list)


def arm_models(scene: Scene, stance: Stance) -> list[ArmModel]:
    """Return the arms of a robot at rest, without their workspaces."""
    names = _names(scene, stance)
    models = []
    for limb, name in zip(stance.arms, names, strict=True):
        tip, offset, why, warnings = grasp_of(
            scene.tree, scene.bodies, limb, scene.poses, stance.rest
        )
        rest = {joint.name: 0.0 for joint in limb.fingers} | stance.rest
        chain = Chain(scene.tree, tip, stance.base, offset, stance.frozen)
        collision = SelfCollision(scene.tree, scene.bodies, chain, rest)
        floor = stance.stands
        models.append(
            ArmModel(name, limb, tip, offset, chain, Prober(chain, collision, floor), why, warnings)
        )
    return models


def describe_arms(
    scene: Scene, stance: Stance, models: list[ArmModel], *, samples: int, seed: int
) -> tuple[tuple[ResumeArm, ...], dict[str, str], list[str]]:
    """Return the arms with workspaces, the evidence and what was odd."""
    arms: list[ResumeArm] = []
    evidence: dict[str, str] = {}
    warnings: list[str] = []
    for model in models:
        warnings += model.warnings
        prober = model.prober
        count = min(samples, _MOST_VALUES // max(model.chain.size, 1))
        if count < samples:
            warnings.append(
                f"{model.name}: {model.chain.size} joints, so that {count} postures were sampled "
                f"instead of {samples}"
            )
        found = workspace_of(
            prober, samples=count, seed=seed, turns=stance.mobility.kind != "fixed"
        )
        if found is None:
            warnings.append(f"{model.name}: no posture is free of collisions: left out")
            continue
        chain = model.chain
        gripper, opening = _gripper(scene, stance, model)
        arms.append(
            ResumeArm(
                name=model.name,
                base_link=stance.body,
                tip_link=model.tip,
                joints=tuple(
                    _joint(joint, *ends)
                    for joint, *ends in zip(
                        chain.joints, chain.lower.tolist(), chain.upper.tolist(), strict=True
                    )
                ),
                gripper=gripper,
                workspace=found.workspace,
                self_collision=prober.collision.known,
            )
        )
        chained = " -> ".join(joint.name for joint in chain.joints)
        evidence[f"{model.name}.joints"] = f"from {stance.body}: {chained}"
        evidence[f"{model.name}.tip_link"] = model.why
        if gripper is not None:
            evidence[f"{model.name}.gripper"] = opening
        evidence[f"{model.name}.workspace"] = (
            f"{found.workspace.samples} postures within the limits (Sobol, seed {seed}); "
            f"{found.grown} more cells of {found.workspace.cell:g} m reached by inverse "
            f"kinematics; {found.barred} cells only by postures that hit the robot or the floor"
        )
        if prober.collision.left_out:
            pairs = [f"{a} and {b}" for a, b in prober.collision.left_out[:6]]
            more = len(prober.collision.left_out) - len(pairs)
            evidence[f"{model.name}.self_collision"] = (
                "not held against each other, because they overlap as modelled: "
                + ", ".join(pairs)
                + (f" and {more} more" if more else "")
            )
        if not prober.collision.known:
            warnings.append(
                f"{model.name}: self-collision not checked, no shapes of it can be read"
            )
    return tuple(arms), evidence, warnings


def _joint(joint: Joint, lower: float, upper: float) -> ArmJoint:
    kind = "prismatic" if joint.kind == "prismatic" else "continuous" if joint.free else "revolute"
    return ArmJoint(name=joint.name, type=kind, lower=lower, upper=upper)


def _names(scene: Scene, stance: Stance) -> list[str]:
    if len(stance.arms) < 2:
        return ["arm"] * len(stance.arms)
    sides = []
    for limb in stance.arms:
        texts = [plain(joint.name) for joint in limb.joints] + [plain(limb.tip)]
        left = sum(bool(_LEFT.search(text)) for text in texts)
        sides.append(left - sum(bool(_RIGHT.search(text)) for text in texts))
    if not min(sides) < 0 < max(sides):  # the names do not tell them apart
        places = [scene.poses[limb.joints[0].child][1, 3] for limb in stance.arms]
        sides = [int(np.sign(round(float(y), 2))) for y in places]
    names = ["left_arm" if s > 0 else "right_arm" if s < 0 else "arm" for s in sides]
    return [
        name if names.count(name) == 1 else f"{name}_{names[: k + 1].count(name)}"
        for k, name in enumerate(names)
    ]


def _gripper(scene: Scene, stance: Stance, model: ArmModel) -> tuple[Gripper | None, str]:
    """Return the gripper and how far it opens, by moving its joints to their ends."""
    limb, tree = model.limb, scene.tree
    if not limb.fingers:
        return None, ""
    joints = tuple(
        dict.fromkeys(
            joint.name
            for finger in limb.fingers
            for name in tree.subtree(finger.child)
            for joint in [tree.above[name]]
            if joint.movable
        )
    )
    opening, why = None, "one finger: how far it opens is not known"
    if len(limb.fingers) >= 2:
        opening = _opening(scene, stance, limb)
        why = "difference between the widest and the narrowest gap of its fingers' ends"
    if opening is None:
        why = "how far it opens cannot be told from its joints"
    return Gripper(link=limb.tip, joints=joints, opening=opening), why


def _opening(scene: Scene, stance: Stance, limb: Limb) -> float | None:
    tree = scene.tree
    own = {
        tree.source(tree.above[name])[0].name
        for finger in limb.fingers
        for name in tree.subtree(finger.child)
        if tree.above[name].movable
    }
    frozen = {name: value for name, value in stance.rest.items() if name not in own}
    frozen |= {joint.name: 0.0 for joint in scene.base.virtual}
    chains = []
    for finger in limb.fingers:
        names = list(tree.subtree(finger.child))
        last = max(
            names,
            key=lambda name: float(
                np.linalg.norm(scene.poses[name][:3, 3] - scene.poses[finger.child][:3, 3])
            ),
        )
        offset = None
        if last == finger.child and finger.turns:
            points = scene.bodies.points(last)
            if not len(points):
                continue
            away = np.linalg.norm(points, axis=1)
            offset = points[away > 0.95 * away.max()].mean(axis=0)
        chains.append(Chain(tree, last, stance.base, offset, frozen))
    sources = list(dict.fromkeys(joint for chain in chains for joint in chain.joints))
    if not sources or len(sources) > _MOST_FINGER_JOINTS:
        sources = sources[:_MOST_FINGER_JOINTS]
    if not sources:
        return None
    spans = [joint.span for joint in sources]
    corners = np.array(list(itertools.product(*spans)))
    ends = []
    for chain in chains:
        columns = [sources.index(j) if j in sources else None for j in chain.joints]
        values = (
            np.column_stack(
                [
                    corners[:, column] if column is not None else np.full(len(corners), 0.0)
                    for column in columns
                ]
            )
            if columns
            else np.zeros((len(corners), 0))
        )
        ends.append(chain.points(values))
    best = 0.0
    for first, second in itertools.combinations(ends, 2):
        gap = first - second
        size = np.linalg.norm(gap, axis=1)
        widest = int(size.argmax())
        if size[widest] < 1e-6:
            continue
        signed = gap @ (gap[widest] / size[widest])
        best = max(best, float(size[widest] - max(signed.min(), 0.0)))
    return round(best, 3) if best > 1e-4 else None
