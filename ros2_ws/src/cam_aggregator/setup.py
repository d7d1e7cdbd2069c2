"""Install cam_aggregator into a ROS 2 workspace."""

from setuptools import find_packages, setup

PACKAGE = "cam_aggregator"

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
    description="Fuse a team's answers into one: votes, debate, trained aggregators (CAM), label-free aggregators.",
    license="Apache-2.0",
    extras_require={"test": ["pytest"]},
    entry_points={
        "console_scripts": [
            "aggregator_node = cam_aggregator.node:main",
        ]
    },
)
