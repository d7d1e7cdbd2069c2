"""Install coterie_bringup into a ROS 2 workspace, with the launch files and configurations."""

import os
from glob import glob

from setuptools import find_packages, setup

PACKAGE = "coterie_bringup"
# Those files have one place, the clone's top folder. colcon runs this file from a build folder in
# which it is a link; paths of data files are relative to the folder that it runs in.
ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "..")
FOLDERS = (
    "launch",
    "config/teams",
    "config/robots",
    "config/rviz",
    "config/foxglove",
    "config/dds",
)


def files_of(folder: str) -> list[str]:
    """Return the files of a folder of the clone, relative to where this runs."""
    found = sorted(glob(os.path.join(ROOT, folder, "*")))
    return [os.path.relpath(file) for file in found if os.path.isfile(file)]


setup(
    name=PACKAGE,
    version="0.3.0",
    packages=find_packages(exclude=["test"]),
    package_data={PACKAGE: ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
        (f"share/{PACKAGE}/hook", ["hook/coterie_dds.sh"]),
        *((f"share/{PACKAGE}/{folder}", files_of(folder)) for folder in FOLDERS),
    ],
    zip_safe=False,
    url="https://example.org/coterie",
    maintainer="Coterie contributors",
    maintainer_email="coterie@example.org",
    description="From a team file to running processes: what the launch files and the command line share.",
    license="Apache-2.0",
    extras_require={"test": ["pytest"]},
)
