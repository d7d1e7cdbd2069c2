#!/usr/bin/env bash
# Programs of ROS and shells run in the workspace's environment; anything else is for ./coterie.
set -euo pipefail
cd /opt/coterie
case "${1:-}" in
    ros2 | rviz2 | python3 | bash | sh)
        # The set-up files of ROS use variables that may be unset.
        set +u
        # shellcheck source=/dev/null
        source /opt/ros/jazzy/setup.bash
        # shellcheck source=/dev/null
        source .venv/bin/activate
        # shellcheck source=/dev/null
        source ros2_ws/install/setup.bash
        set -u
        exec "$@"
        ;;
    *)
        exec ./coterie "$@"
        ;;
esac
