"""Addresses of ledgers: shown without what may be a password, however they are written."""

import re

import pytest
from effort import examples
from hypothesis import assume, given, settings, strategies as st

from quiltwork import Ledger
from quiltwork.errors import LedgerError
from quiltwork.ledger.address import open_store

PASSWORDS = st.text(st.sampled_from("@:/?#%[]&= .+\\\n4aé"), max_size=6).map(lambda text: f"xq{text}zv")
FRAMES = (
    "postgres:{}@host",
    "postgres:/ann:{}@host/db",
    "postgres//ann:{}@host/db",
    "postgresql://ann:{}@127.0.0.1:1/db",
    "postgresql://ann:{}",
    "postgresql+psycopg://ann:{}@.0.0.1:1/x",
    "postgresql://{}:ann@127.0.0.1:1/x",
    "postgresql://ann:@host:{}/x",
    "{}://ann@host/x",
    "postgresql://127.0.0.1:1/x?password={}",
    "postgresql://127.0.0.1:1/x?{}",
    "postgresql://127.0.0.1:1/x?{}=1",
    "postgresql://127.0.0.1:1/ann:{}@host",
    "postgresql://127.0.0.1:1/x?options={}",
    "mysql://ann:{}@host/x",
    "sqlite://ann:{}@host",
    "sqlite:///ann:{}@host",
    "ann:{}@host/x",
    "ann@{}/x",
    "host=127.0.0.1 password={}",
    "sqlite:///user=ann password={}",
    "postgresql:{}",
    "postgresql://ann%3A{}@127.0.0.1:1/x",
)


@settings(max_examples=examples(200), deadline=None)
@given(frame=st.sampled_from(FRAMES), password=PASSWORDS)
def test_no_address_shows_what_may_be_a_password(frame: str, password: str) -> None:
    """However it is written: nothing of it is shown, and nothing but an error of ours is raised."""
    address = frame.format(password)
    assume(not (frame.startswith("postgresql://{}") and re.match(r"[\w.+-]*(:|$)", password)))  # it is a user's name
    assume(not (frame == "postgresql://ann:{}" and re.search(r"@[\w.-]", password)))  # it ends in a server's name
    with pytest.raises(LedgerError) as caught:
        Ledger(address)
    assert "xq" not in str(caught.value)
    assert "zv" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://ann:secret@host:5432/db", "postgresql://ann:***@host:5432/db"),
        ("postgres://ann@host/db", "postgresql://ann@host/db"),
        ("postgresql+psycopg://ann:a:b%40@[::1]:1/db", "postgresql://ann:***@[::1]:1/db"),
        ("postgresql:///db?host=/run/pg&password=secret", "postgresql:///db?host=/run/pg&password=***"),
        ("postgresql://ann%40corp:secret@host/db", "postgresql://***:***@host/db"),
        ("sqlite:///ann@work/ledger.db", "sqlite:///ann@work/ledger.db"),
        ("sqlite:////srv/host=3/ledger.db", "sqlite:////srv/host=3/ledger.db"),
        ("ledger.db", "sqlite:///ledger.db"),
    ],
)
def test_addresses_that_are_well_formed(address: str, shown: str) -> None:
    assert open_store(address).name == shown
