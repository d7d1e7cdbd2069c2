"""Install coterie_cli into a ROS 2 workspace."""

from setuptools import find_packages, setup

PACKAGE = "coterie_cli"

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
    description="The command line ./coterie: a file for each command, and the pictures and pages they leave.",
    license="Apache-2.0",
    extras_require={"test": ["pytest"]},
)
