"""Nearness of words by meaning, for words that no table lists. See docs/objects.md."""

from coterie_world.meaning.embedders import EmbedderError as EmbedderError
from coterie_world.meaning.embedders import EmbedderOptions as EmbedderOptions
from coterie_world.meaning.embedders import OpenAIEmbedder as OpenAIEmbedder
from coterie_world.meaning.embedders import load_embedder as load_embedder
from coterie_world.meaning.nearness import Meanings as Meanings
from coterie_world.meaning.nearness import Near as Near
from coterie_world.meaning.nearness import label_relevance as label_relevance
from coterie_world.meaning.nearness import likeness_by_label as likeness_by_label
from coterie_world.meaning.nearness import local_meanings as local_meanings
from coterie_world.meaning.nearness import nearest_labels as nearest_labels
