"""ROS-free foundation of Coterie."""
