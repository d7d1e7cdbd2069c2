"""Install emos_planner into a ROS 2 workspace."""

from setuptools import find_packages, setup

PACKAGE = "emos_planner"

setup(
    name=PACKAGE,
    version="0.3.0",
    packages=find_packages(exclude=["test"]),
    package_data={PACKAGE: ["py.typed", "data/*", "data/**/*"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    zip_safe=False,
    url="https://example.org/coterie",
    maintainer="Coterie contributors",
    maintainer_email="coterie@example.org",
    description="EMOS teams: a leader, discussion, assignment and execution.",
    license="Apache-2.0",
    extras_require={"test": ["pytest"]},
    entry_points={
        "console_scripts": [
            "leader_node = emos_planner.leader.node:main",
            "robot_node = emos_planner.robot.node:main",
        ]
    },
)
