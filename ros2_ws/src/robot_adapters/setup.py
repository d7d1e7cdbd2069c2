"""Install robot_adapters into a ROS 2 workspace."""

from setuptools import find_packages, setup

PACKAGE = "robot_adapters"

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
    description="Real robots: skills through Nav2, MoveIt, grippers or a robot's own node.",
    license="Apache-2.0",
    extras_require={"test": ["pytest"]},
    entry_points={
        "console_scripts": [
            "adapter_node = robot_adapters.node:main",
            "driver_node = robot_adapters.driver_node:main",
            "watchdog_node = robot_adapters.watchdog_node:main",
        ]
    },
)
