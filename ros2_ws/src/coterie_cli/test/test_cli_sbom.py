"""The bill of materials names what is installed, in CycloneDX's form."""

import json
import re
from importlib import metadata
from pathlib import Path

from coterie_cli.sbom import sbom


def test_the_bill_names_what_is_installed(tmp_path: Path) -> None:
    file = tmp_path / "bom.json"
    assert sbom(file) == 0
    bill = json.loads(file.read_text())
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill["serialNumber"])
    assert bill["metadata"]["component"]["name"] == "coterie"
    components = {one["name"]: one for one in bill["components"]}
    references = [one["bom-ref"] for one in bill["components"]]
    assert len(references) == len(set(references))
    for one in components.values():
        assert one["type"] in ("library", "machine-learning-model", "data")
        for licence in one["licenses"]:
            assert licence.keys() <= {"expression", "license"} and len(licence) == 1
            if "license" in licence:
                assert licence["license"]["name"]
    numpy = components["numpy"]
    assert numpy["purl"] == f"pkg:pypi/numpy@{metadata.version('numpy')}" and numpy["licenses"]
    words = components["english_words.txt.gz"]
    assert len(words["hashes"][0]["content"]) == 64
    assert words["licenses"][0]["license"]["text"]["content"].strip()
    said = [one for one in components.values() if one["licenses"]]
    assert len(said) > 0.8 * len(components)
