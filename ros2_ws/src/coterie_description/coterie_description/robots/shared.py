"""What the robots share: the note in their files, axes, how cylinders are turned."""

from __future__ import annotations

from math import pi

NOTE = """
Written by the Coterie project from published dimensions; plain shapes only, nothing taken from
the maker's own description. Licence: Apache-2.0. SPDX-License-Identifier: Apache-2.0
Made by coterie_description.robots: change it there.
"""
SIDEWAYS = (pi / 2.0, 0.0, 0.0)
ALONG_X = (0.0, pi / 2.0, 0.0)
Y = (0.0, 1.0, 0.0)
X = (1.0, 0.0, 0.0)
