"""A scripted stand-in for a capable model, and an answerer at random: no model is needed for them.

The oracle reads the prompt of a decision and nothing else: neither the world, nor the state that
the prompt was made from, nor the code of the rules. It answers as a competent person would who was
given that prompt. Where it does worse than the rules, the prompt carries too little. It cannot see:
a request with images is refused, and the rule decides.

    from coterie_core.testing.endpoint import Endpoint

    with Endpoint(Oracle(), usage=None) as endpoint:
        profile = ModelProfile(kind="openai", base_url=endpoint.url, model="oracle")
"""

from coterie_bench.oracle.answering import Oracle
from coterie_bench.oracle.guesses import random_answerer
from coterie_bench.oracle.request import Question, Use, question_of

__all__ = ["Oracle", "Question", "Use", "question_of", "random_answerer"]
