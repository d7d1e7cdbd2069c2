"""The bench of placing: a house whose seats are of unknown height, by surfaces and by boxes."""

import pytest

from research.bench.mapping.placing import house

pytestmark = pytest.mark.slow


def test_a_house_is_placed_in_both_ways() -> None:
    pairs = house(81600)
    assert len(pairs) > 20
    assert sum(by_surface == "borne" for by_surface, _ in pairs) > len(pairs) / 2
    assert any(by_surface != by_box for by_surface, by_box in pairs)
