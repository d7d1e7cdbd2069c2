"""Decisions of studies: a profile can name them, and they are made as the product's are."""

import inspect

from coterie_fixtures.endless import endless
from coterie_fixtures.oracle.answering import all_answers
from coterie_llm import DECISIONS, Decision
from research.bench.openeqa import judge
from research.bench.reveca import baseline_coela


def test_each_decision_of_a_study_can_be_named_and_is_answered_by_the_oracle() -> None:
    own = [
        one
        for module in (baseline_coela, judge)
        for one in vars(module).values()
        if isinstance(one, type)
        and issubclass(one, Decision)
        and "name" in vars(one)
        and one.__module__ == module.__name__
    ]
    assert sorted(one.name for one in own) == [
        n for n in DECISIONS if n.startswith(("coela.", "openeqa.judge_answer"))
    ]
    for one in own:
        assert next(iter(one.reply_type.model_fields)) == "reason"
        assert one.reply_type.__name__ in all_answers()
        named = inspect.getsource(one.options)
        fields = list(endless(one.reply_type.model_json_schema()))
        assert [field for field in fields if f'"{field[1:]}"' not in named] == []
