"""Query files: mistakes with their line, and edits that touch nothing else."""

import difflib

import pytest

from coterie_core.yaml_marks import FileProblem
from research.annotate.queries import Query, QueryError, checked, parse_queries, write_queries

TEXT = """\
# Head.
queries:
  a: first   # on a

  # About b.
  b:
    query: >
      folded
      words
    type: affordance
  'c': "third: #3"
tail: {x: 1}
"""


def diff(before, after):
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]


def test_one_edit_is_one_line():
    queries = parse_queries(TEXT, "q")
    after = {**queries, "a": Query("a", "another")}
    assert diff(TEXT, write_queries(TEXT, "q", after)) == ["-  a: first   # on a", "+  a: another"]
    after = {**queries, "d": Query("d", "yes", "negation", "easy")}
    assert diff(TEXT, write_queries(TEXT, "q", after)) == [
        "+  d:", "+    query: 'yes'", "+    type: negation", "+    difficulty: easy",
    ]  # fmt: skip
    after = {k: v for k, v in queries.items() if k != "b"}
    written = write_queries(TEXT, "q", after)
    assert "# About b." in written and parse_queries(written, "q") == after
    assert write_queries(TEXT, "q", queries) == TEXT


@pytest.mark.parametrize(
    "text",
    [
        "queries: {a: one, b: two}\n",
        "queries:\n  a: &x one\n  b: *x\n",
        'queries:\n  a: "one\n    and more"\n  b: two',
        "queries:\n  a: |\n    one\n\n  b: two\n# end\n",
        "{queries: {a: one}, other: 2}",
        "queries: {}\n",
        "other: 1\nqueries:\n",
        "",
    ],
)
@pytest.mark.parametrize(
    "words", ["plain", "a: b # c", "- x", "'", "yes", "12", "é 🪑", "{x}", "&y", "*z", "!t", "|"]
)
def test_any_words_survive_any_layout(text, words):
    queries = {} if not text else parse_queries(text, "q")
    after = {**queries, "new: #": Query("new: #", words), "k2": Query("k2", words, "negation")}
    written = write_queries(text, "q", after)
    assert list(parse_queries(written, "q").items()) == list(after.items())
    assert ("other" in text) == ("other" in written)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("queries:\n  a: x\n  b: {query: y, type: negatoin}", "q:3: .*type.*did you mean 'neg"),
        ("queries:\n  a: x\n  b: {query: y, difficulty: hard}", "q:3: .*one of difficult, easy"),
        ("queries:\n  a: {qury: y}", "q:2: .*did you mean 'query'"),
        ("queries:\n  a: 12", r"q:2: .*put it in quotes"),
        ("queries:\n  a: x\n  a: y", r"q:3: .*stands twice \(first on line 2"),
        ("qeries:\n  a: x", "expected a map with 'queries'.*did you mean 'queries'"),
        ("queries:\n  - a\n", "q:1: queries: expected a map of ids"),
        ("queries:\n\ta: x", "q:2: indented with a tab"),
        ("queries:\n  a: [x", "q:2?.*not YAML"),
        ("queries:\n  a: " + "x" * 700, "q:2: .*1 to 600 characters"),
    ],
)
def test_mistakes_are_named_with_their_line(text, says):
    with pytest.raises(FileProblem, match=says):
        parse_queries(text, "q")


def test_typed_queries_are_tidied_or_refused():
    assert checked(Query(" a ", " two\n words ")) == Query("a", "two words")
    for query in (Query("", "x"), Query("a", " "), Query("a" * 99, "x"), Query("a\nb", "x")):
        with pytest.raises(QueryError):
            checked(query)
    with pytest.raises(QueryError, match="taken"):
        checked(Query("a", "x"), ["a"])
