"""Settings that every test of the repository runs under."""

from __future__ import annotations

import os

from hypothesis import settings

# A busy machine is no reason to fail, and the same commit gives the same result twice.
settings.register_profile("coterie", deadline=None, derandomize=True)
settings.load_profile("coterie")

# Model calls to anything but this machine are impossible in tests, whatever a profile says.
os.environ["COTERIE_TEST_LOCAL_ONLY"] = "1"

# ROS fixtures; nothing of ROS is imported until a test asks for one.
pytest_plugins = ["coterie_ros.testing"]
