"""Install openeqa_agent into a ROS 2 workspace."""

from setuptools import find_packages, setup

PACKAGE = "openeqa_agent"

setup(
    name=PACKAGE,
    version="0.3.0",
    packages=find_packages(exclude=["test"]),
    package_data={PACKAGE: ["py.typed", "data/*"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    zip_safe=False,
    url="https://example.org/coterie",
    maintainer="Coterie contributors",
    maintainer_email="coterie@example.org",
    description="Open questions about a place, answered from a map, from frames, or by looking.",
    license="Apache-2.0",
    extras_require={"test": ["pytest"]},
    entry_points={
        "console_scripts": [
            "open_node = openeqa_agent.node:main",
        ]
    },
)
