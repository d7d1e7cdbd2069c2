"""Settings that every test of the repository runs under."""

from __future__ import annotations

import os

from hypothesis import settings

# A busy machine is no reason to fail, and the same commit gives the same result twice.
settings.register_profile("coterie", deadline=None, derandomize=True)
settings.load_profile("coterie")

# Model calls to anything but this machine are impossible in tests, whatever a profile says.
os.environ["COTERIE_TEST_LOCAL_ONLY"] = "1"

# Fixtures of ROS, of which nothing is imported until a test asks for one, and of what is shared.
pytest_plugins = [
    "coterie_fixtures.ros_harness",
    "coterie_fixtures.full_disk",
    "coterie_fixtures.own_skills",
]
