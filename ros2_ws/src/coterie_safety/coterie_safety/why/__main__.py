"""`python -m coterie_safety.why FOLDER LOG MEMORY WHAT`: print an explanation as JSON.

LOG and MEMORY "" stand for none. Ends with 1, and a sentence on stderr, where nothing that is kept
fits. A long journal takes seconds to read: a program that must not wait has it read in a process
beside it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from coterie_safety.why.chain import explain
from coterie_safety.why.explanation import NothingKept


def main(arguments: Sequence[str]) -> int:
    """Print why something happened; return 0, or 1 where nothing fits, 2 for wrong arguments."""
    if len(arguments) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    folder, log, memory, what = arguments
    try:
        told = explain(what, Path(folder), *(Path(one) if one else None for one in (log, memory)))
    except (NothingKept, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(told.as_data()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
