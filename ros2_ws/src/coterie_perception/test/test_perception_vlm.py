"""A model that sees, as a server on this machine speaks for one, and fails."""

import base64
import io
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image

from coterie_core.detector_options import DetectorOptions
from coterie_fixtures.endpoint import BROKEN_JSON, Endpoint, server_error
from coterie_llm import CheckFailed, ModelProfile
from coterie_llm import Image as Encoded
from coterie_perception.detector import DetectorError, make_detector
from coterie_perception.vlm import DetectThings, ImageToDetect, SeenThings

PICTURE = np.zeros((120, 240, 3), np.uint8)
PICTURE[30:60, 60:120] = (255, 0, 0)


def thing(label="Red Box", left=250, top=250, right=500, bottom=500, sure="certain"):
    return {
        "label": label,
        "left": left,
        "top": top,
        "right": right,
        "bottom": bottom,
        "sure": sure,
    }


def detector(endpoint, **options):
    profile = ModelProfile(
        kind="openai", base_url=endpoint.url, model="sees", max_retries=0, timeout_s=20.0
    )
    return make_detector("vlm", DetectorOptions(profile=profile.model_dump_json(), **options))


def sent_image(request):
    parts = [p for m in request["messages"] if isinstance(m["content"], list) for p in m["content"]]
    (url,) = [p["image_url"]["url"] for p in parts if p["type"] == "image_url"]
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))))


def test_what_the_model_sees_becomes_boxes_in_pixels():
    seen = []

    def answer(request):
        seen.append(request)
        return {"reason": "red", "things": [thing(), thing("cup", 0, 0, 100, 100, "guess")]}

    with Endpoint(answer) as endpoint:
        box, cup = detector(endpoint, words=("red box", "cup")).detect(PICTURE)
    assert box.box == (60, 30, 60, 30) and box.scores == pytest.approx({"red box": 0.9})
    assert cup.box == (0, 0, 24, 12) and cup.scores == pytest.approx({"cup": 0.4})
    sent = sent_image(seen[0])
    assert sent.shape == PICTURE.shape and sent[45, 90, 0] > 200 and sent[10, 10, 0] < 60
    assert "red box, cup" in str(seen[0]["messages"])


def test_what_the_team_looks_for_comes_first_and_is_cleaned():
    seen = []

    def answer(request):
        seen.append(str(request["messages"]))
        return {"things": []}

    with Endpoint(answer) as endpoint:
        eye = detector(endpoint, words=("cup",))
        eye.look_for(["My <b>keys</b>\n; rm -rf", ""])
        assert eye.detect(PICTURE) == []
    assert "my bkeysb rm -rf, cup" in seen[0]


def test_a_box_without_width_is_asked_for_again():
    replies = [{"things": [thing(right=250)]}, {"things": [thing()]}]
    with Endpoint(lambda request: replies.pop(0)) as endpoint:
        assert len(detector(endpoint, words=("box",)).detect(PICTURE)) == 1
    assert not replies


@pytest.mark.parametrize("fault", [server_error(), BROKEN_JSON])
def test_a_model_that_fails_has_not_looked(fault):
    """Nothing found and nobody looked are two things: an empty list would clear the map."""
    with Endpoint(lambda request: {"things": []}) as endpoint:
        eye = detector(endpoint, words=("cup",))
        endpoint.fail(fault, fault, fault, fault)
        with pytest.raises(DetectorError, match="the model did not look"):
            eye.detect(PICTURE)


def test_a_profile_that_cannot_see_is_refused(tmp_path):
    with pytest.raises(DetectorError, match="rules do not see"):
        make_detector("vlm", DetectorOptions(profile='{"kind": "rules"}'))
    with pytest.raises(DetectorError, match="profile: "):
        make_detector("vlm", DetectorOptions(profile=str(tmp_path / "none.yaml")))


def test_the_rule_sees_nothing_and_the_check_knows_the_words_for_sure():
    buffer = io.BytesIO()
    Image.fromarray(PICTURE).save(buffer, "PNG")
    state = ImageToDetect(Encoded(buffer.getvalue()), ("cup",))
    decision = DetectThings()
    assert decision.rule(state).things == []
    with pytest.raises(CheckFailed, match="sure: certain, likely, guess"):
        decision.check(state, SeenThings.model_validate({"things": [thing(sure="very")]}))


def test_cameras_that_share_a_model_ask_one_after_another():
    with Endpoint(lambda request: {"things": [thing()]}) as endpoint:
        eye = detector(endpoint, words=("red box",))
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(eye.detect, [PICTURE] * 4))
    assert [len(one) for one in found] == [1] * 4
