# Fast DDS's own defaults lose images between processes; a profile that is set already stands.
if [ -z "${FASTRTPS_DEFAULT_PROFILES_FILE-}" ] && [ -z "${FASTDDS_DEFAULT_PROFILES_FILE-}" ]; then
    _coterie_profile="$COLCON_CURRENT_PREFIX/share/coterie_bringup/config/dds/fastdds.xml"
    [ -f "$_coterie_profile" ] && export FASTRTPS_DEFAULT_PROFILES_FILE="$_coterie_profile"
    unset _coterie_profile
fi
