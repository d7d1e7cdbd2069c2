# Let the programs of an installed ROS, such as `ros2 launch`, find the libraries that ./coterie put into .venv.
# Where ROS itself lives in .venv there is nothing to do: everything runs on that environment's interpreter.
_coterie_venv="$COLCON_CURRENT_PREFIX/../../../.venv"
if [ -f "$_coterie_venv/coterie-stamp" ] && [ ! -d "$_coterie_venv/share/rclpy" ]; then
    for _coterie_site in "$_coterie_venv"/lib/python3.*/site-packages; do
        _coterie_site=$(cd "$_coterie_site" && pwd)
        case ":${PYTHONPATH-}:" in
            *":$_coterie_site:"*) ;;
            *) export PYTHONPATH="${PYTHONPATH:+$PYTHONPATH:}$_coterie_site" ;;
        esac
    done
    unset _coterie_site
fi
unset _coterie_venv
