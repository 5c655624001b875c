"""A session whose series grows."""

import pytest
from accounts import told
from examples import COIN

from quiltwork import InputError, Session


def test_a_release_that_grew_is_about_what_was_there() -> None:
    session = Session(["0", "1"] * 5, belief=COIN, budget=3.0)
    first = session.count("1", epsilon=1.0).record()
    new = session.append(["1", "0"] * 5)
    second = session.count("1", epsilon=1.0, segment=new).record()
    assert session.spent() == pytest.approx(1.0)
    assert told(COIN, first, second, length=20) == pytest.approx(1.0)
    with pytest.raises(InputError, match="within the 10 values"):
        told(COIN, first, second, length=10)
