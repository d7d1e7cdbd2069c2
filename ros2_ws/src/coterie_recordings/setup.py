"""Install coterie_recordings into a ROS 2 workspace."""

from setuptools import find_packages, setup

PACKAGE = "coterie_recordings"

setup(
    name=PACKAGE,
    version="0.3.0",
    packages=find_packages(exclude=["test"]),
    package_data={PACKAGE: ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    zip_safe=False,
    url="https://example.org/coterie",
    maintainer="Coterie contributors",
    maintainer_email="coterie@example.org",
    description="What robots saw, on disk: bags and MCAP files, folders of scans, and what writes them.",
    license="Apache-2.0",
    extras_require={"test": ["pytest"]},
)
