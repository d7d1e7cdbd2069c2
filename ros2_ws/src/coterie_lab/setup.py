"""Install coterie_lab into a ROS 2 workspace."""

from setuptools import find_packages, setup

PACKAGE = "coterie_lab"

setup(
    name=PACKAGE,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    package_data={PACKAGE: ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    zip_safe=False,
    maintainer="Coterie contributors",
    maintainer_email="coterie@example.org",
    description="A lab in a box: robots in a simulated house that speak only what real robots speak, with faults.",
    license="Apache-2.0",
    extras_require={"test": ["pytest"]},
    entry_points={
        "console_scripts": [
            "lab_node = coterie_lab.node:main",
        ]
    },
)
