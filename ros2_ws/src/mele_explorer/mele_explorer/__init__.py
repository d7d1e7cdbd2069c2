"""One robot of a MELE team: explore a house, remember it, answer questions about it."""

from coterie_core.confidence import DetectorModel, PriorModel
from coterie_requests.common_sense import CommonSense, load_common_sense
from coterie_requests.parsing import NotAQuestion, ParseQuestion, understand
from mele_explorer.answer_presence import AnswerPresence
from mele_explorer.answering import Answerer
from mele_explorer.bank import QuestionBank
from mele_explorer.choose_place import ChoosePlace
from mele_explorer.explorer import Explorer, ExplorerLimits, Feedback
from mele_explorer.memory import LogEntry, Memory, MemoryLimits
from mele_explorer.memory_file import (
    MemoryFileError,
    load_memory,
    memory_from_json,
    memory_to_json,
    save_memory,
)
from mele_explorer.run import ExplorerRun, answer_all, oracle_run, run_exploration

__all__ = [
    "AnswerPresence",
    "Answerer",
    "ChoosePlace",
    "CommonSense",
    "DetectorModel",
    "PriorModel",
    "Explorer",
    "ExplorerLimits",
    "ExplorerRun",
    "Feedback",
    "LogEntry",
    "Memory",
    "MemoryFileError",
    "MemoryLimits",
    "NotAQuestion",
    "ParseQuestion",
    "QuestionBank",
    "answer_all",
    "load_common_sense",
    "load_memory",
    "memory_from_json",
    "memory_to_json",
    "oracle_run",
    "run_exploration",
    "save_memory",
    "understand",
]
