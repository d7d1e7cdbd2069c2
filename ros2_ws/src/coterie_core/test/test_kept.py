"""Data that a text makes are kept from one process to the next, and never instead of other data."""

import subprocess
import sys

import pytest

CHILD = """
import sys
from coterie_core.kept import kept
def make():
    print("made", end=" ")
    return {"words": sys.argv[2].split(), True: (1, 2.5, None)}
print(kept(sys.argv[1], sys.argv[2], make))
"""


@pytest.fixture
def run(tmp_path):
    def run(name, text, *flags):
        command = [sys.executable, "-X", f"pycache_prefix={tmp_path}", *flags, "-c", CHILD]
        done = subprocess.run(
            [*command, name, text], capture_output=True, text=True, check=True,
            env={"PYTHONPATH": ":".join(sys.path)},
        )  # fmt: skip
        return done.stdout.strip()

    return run


def test_the_next_process_reads_what_was_made(run, tmp_path):
    made = run("words", "a mug")
    assert made == "made {'words': ['a', 'mug'], True: (1, 2.5, None)}"
    assert run("words", "a mug") == made.removeprefix("made ")
    assert run("words", "a cup").startswith("made {'words': ['a', 'cup']")
    assert run("others", "a cup").startswith("made")
    (file,) = tmp_path.rglob("*.words")
    file.write_bytes(file.read_bytes()[:-3])
    assert run("words", "a cup").startswith("made")
    assert not run("words", "a cup").startswith("made")


def test_nothing_is_written_where_no_bytecode_is(run, tmp_path):
    assert run("words", "a mug", "-B") == run("words", "a mug", "-B")
    assert not [*tmp_path.rglob("*.words")]
