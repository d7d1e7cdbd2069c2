"""Entry of ``python tools/bootstrap``: make the package importable by its name, then run it."""

import sys
from pathlib import Path

# Python put this directory in front; the package is found one level up.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from bootstrap.main import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
