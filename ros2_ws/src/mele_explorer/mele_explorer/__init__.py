"""One robot of a MELE team: explore a house, remember it, answer questions about it."""

from coterie_core.confidence import DetectorModel as DetectorModel
from coterie_core.confidence import PriorModel as PriorModel
from coterie_requests.common_sense import CommonSense as CommonSense
from coterie_requests.common_sense import load_common_sense as load_common_sense
from coterie_requests.parsing import NotAQuestion as NotAQuestion
from coterie_requests.parsing import ParseQuestion as ParseQuestion
from coterie_requests.parsing import understand as understand
from mele_explorer.answer_presence import AnswerPresence as AnswerPresence
from mele_explorer.answering import Answerer as Answerer
from mele_explorer.bank import QuestionBank as QuestionBank
from mele_explorer.choose_place import ChoosePlace as ChoosePlace
from mele_explorer.explorer import Explorer as Explorer
from mele_explorer.explorer import ExplorerLimits as ExplorerLimits
from mele_explorer.explorer import Feedback as Feedback
from mele_explorer.memory import LogEntry as LogEntry
from mele_explorer.memory import Memory as Memory
from mele_explorer.memory import MemoryLimits as MemoryLimits
from mele_explorer.memory_file import MemoryFileError as MemoryFileError
from mele_explorer.memory_file import load_memory as load_memory
from mele_explorer.memory_file import memory_from_json as memory_from_json
from mele_explorer.memory_file import memory_to_json as memory_to_json
from mele_explorer.memory_file import save_memory as save_memory
from mele_explorer.run import ExplorerRun as ExplorerRun
from mele_explorer.run import answer_all as answer_all
from mele_explorer.run import oracle_run as oracle_run
from mele_explorer.run import run_exploration as run_exploration
