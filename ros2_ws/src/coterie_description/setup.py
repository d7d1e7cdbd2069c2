"""Install coterie_description into a ROS 2 workspace."""

from setuptools import find_packages, setup

PACKAGE = "coterie_description"

setup(
    name=PACKAGE,
    version="0.3.0",
    packages=find_packages(exclude=["test"]),
    package_data={PACKAGE: ["py.typed", "urdf/*"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml", "README.md"]),
    ],
    zip_safe=False,
    url="https://example.org/coterie",
    maintainer="Coterie contributors",
    maintainer_email="coterie@example.org",
    description="Descriptions (URDF) of four robots in plain shapes, from published dimensions.",
    license="Apache-2.0",
    extras_require={"test": ["pytest"]},
)
