"""Install habitat_bridge into a ROS 2 workspace."""

from setuptools import find_packages, setup

PACKAGE = "habitat_bridge"

setup(
    name=PACKAGE,
    version="0.3.0",
    packages=find_packages(exclude=["test"]),
    package_data={PACKAGE: ["py.typed", "render/*.c", "data/*", "data/**/*"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    zip_safe=False,
    url="https://example.org/coterie",
    maintainer="Coterie contributors",
    maintainer_email="coterie@example.org",
    description="Simulated houses behind one protocol (embedded, graph, Habitat) and the node that puts them on ROS topics.",
    license="Apache-2.0",
    extras_require={"test": ["pytest"]},
    entry_points={
        "console_scripts": [
            "bridge_node = habitat_bridge.node:main",
            "lab_node = habitat_bridge.lab.node:main",
        ]
    },
)
