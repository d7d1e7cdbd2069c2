"""The process that runs habitat-sim: answers the bridge over a socket, frames in shared memory.

It stands alone: it imports nothing else from the project, only habitat_sim, numpy, msgpack and the
standard library, so that it runs in whatever Python 3.9+ habitat-sim is installed in (0.2.2 to
0.3.4). All positions and rotations are those of habitat: y up, metres, quaternions (x, y, z, w).

The bridge starts it with the number of an inherited socket. A message is its length (4 bytes, big
endian) and a msgpack map; requests have `id` and `op`, replies the same `id` and `ok`. The world's
state is the bridge's: whoever starts a new worker tells it everything anew.
"""

PROTOCOL = 1
