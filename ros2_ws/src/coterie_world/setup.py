"""Install coterie_world into a ROS 2 workspace."""

from setuptools import find_packages, setup

PACKAGE = "coterie_world"

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
    description="What robots believe of a house: scene graph, association, memory, search belief and free space.",
    license="Apache-2.0",
    extras_require={"test": ["pytest"]},
)
