"""Shared ROS code of Coterie: conversions, QoS profiles, the agent node and its parameters."""

import sys

# Messages ask rosidl_generator_py for their type support. Its half that generates messages is left
# out, as where its libraries are not installed: it takes each process 0.15 s, and nobody uses it.
sys.modules.setdefault("rosidl_generator_py.generate_py_impl", None)  # type: ignore[arg-type]
