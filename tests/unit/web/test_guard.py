"""The door: wrong names, wrong sites, no token, too much."""

import logging
from typing import Any

import pytest
from starlette.testclient import TestClient
from web_service import ADDRESS, TOKEN

from quiltwork.web import guard as door
from quiltwork.web.guard import HEADERS, Guard
from quiltwork.web.pages import sign_in, signed_in

BEARER = {"Authorization": f"Bearer {TOKEN}"}


async def behind(scope: Any, receive: Any, send: Any) -> None:
    """What is behind the door: it says who came in, and with how much."""
    if scope["type"] != "http":
        return
    if scope["path"] == "/broken":
        raise ValueError("the value 4711 of the data")
    message = await receive()
    client = scope["state"]["client"] if "state" in scope and "client" in scope["state"] else None
    body = f"{'|' if client is None else f'{client.owner}|{client.name or str()}'}|{len(message['body'])}".encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-frame-options", b"SAMEORIGIN")]})
    await send({"type": "http.response.body", "body": body})


def guarded(**settings: Any) -> TestClient:
    given: dict[str, Any] = {
        "token": TOKEN,
        "hosts": ["127.0.0.1", "localhost"],
        "sign_in_page": sign_in,
        "signed_in_page": signed_in,
    }
    return TestClient(Guard(behind, **(given | settings)), base_url=ADDRESS)


def test_without_the_token_nobody_comes_in() -> None:
    client = guarded()
    for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": f"Basic {TOKEN}"}, {"Cookie": "quiltwork=x"}):
        answer = client.get("/api/status", headers=headers)
        assert answer.status_code == 401
        assert answer.json()["kind"] == "token"
    assert client.get("/", params={"token": "x" * 43}).status_code == 401
    page = client.get("/", headers={"Accept": "text/html"})
    assert page.status_code == 401
    assert "Token needed" in page.text
    assert "not right" not in page.text
    wrong = client.get("/", params={"token": "x" * 43}, headers={"Accept": "text/html"})
    assert (wrong.status_code, "This token is not right" in wrong.text, "xxx" in wrong.text) == (401, True, False)
    assert "set-cookie" not in wrong.headers
    assert client.post("/api/plan", params={"token": TOKEN}).status_code == 401  # it is for the first page only
    assert client.get("/static/quiltwork.css").status_code == 200


def test_the_token_is_exchanged_for_a_cookie() -> None:
    client = guarded()
    page = client.get("/", params={"token": TOKEN})
    cookie = page.headers["set-cookie"]
    assert page.status_code == 200
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert TOKEN not in cookie + page.text
    assert client.get("/api/status").text.startswith("browser ")
    secure = client.get("/", params={"token": TOKEN}, headers={"X-Forwarded-Proto": "https"})
    assert "; Secure" in secure.headers["set-cookie"]
    other = guarded()
    assert other.get("/api/status", headers={"Cookie": cookie.partition(";")[0]}).status_code == 401
    client.cookies.clear()
    client.get("/", params={"token": TOKEN})
    assert client.post("/sign-out").status_code == 204
    client.cookies.clear()
    assert client.get("/api/status", headers={"Cookie": cookie.partition(";")[0]}).status_code == 200  # another browser


def test_the_address_opened_again_leaves_a_browser_who_it_is() -> None:
    client = guarded()
    client.get("/", params={"token": TOKEN})
    owner = client.get("/x").text
    client.get("/", params={"token": TOKEN})
    assert client.get("/x").text == owner
    client.post("/sign-out")
    client.get("/", params={"token": TOKEN}, headers={"Cookie": "quiltwork=made-up"})
    assert client.get("/x").text not in (owner, "browser made-up")


def test_the_button_of_a_page_signs_out() -> None:
    client = guarded()
    client.get("/", params={"token": TOKEN})
    form = {"Accept": "text/html", "Origin": "null"}  # pages tell no referrer
    assert client.post("/sign-out", headers=form | {"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert client.post("/sign-out", headers=form).status_code == 403
    assert client.post("/x", headers=form | {"Sec-Fetch-Site": "same-origin"}).status_code == 403
    left = client.post("/sign-out", headers=form | {"Sec-Fetch-Site": "same-origin"}, follow_redirects=False)
    assert (left.status_code, left.headers["location"]) == (303, "/")
    assert client.get("/x").status_code == 401


def test_sessions_end(monkeypatch: pytest.MonkeyPatch) -> None:
    client = guarded()
    client.get("/", params={"token": TOKEN})
    kept = dict(client.cookies)
    assert client.get("/x").status_code == 200
    client.post("/sign-out")
    assert client.get("/x", cookies=None, headers={"Cookie": f"quiltwork={kept['quiltwork']}"}).status_code == 401
    client.get("/", params={"token": TOKEN})
    monkeypatch.setattr(door, "SIGNED_IN", -1.0)
    assert client.get("/x").status_code == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8765", "", "192.0.2.7", "[x"]
)
def test_a_name_that_is_not_ours_is_refused(host: str) -> None:
    answer = guarded().get("/", params={"token": TOKEN}, headers={"Host": host})
    assert answer.status_code == 421
    assert "set-cookie" not in answer.headers


def test_names_can_be_allowed() -> None:
    client = guarded(hosts=["Data.Example"], any_address=True)
    for host in ("data.example", "DATA.example:443", "192.0.2.7:8765", "[2001:db8::1]:80"):
        assert client.get("/x", headers={"Host": host} | BEARER).status_code == 200
    assert client.get("/x", headers={"Host": "other.example"} | BEARER).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_other_sites_cannot_act(headers: dict[str, str]) -> None:
    client = guarded()
    for method in ("POST", "DELETE", "PUT", "OPTIONS"):
        assert client.request(method, "/anything", headers=headers | BEARER).status_code == 403
    assert client.get("/api/ledger", headers=headers | BEARER).status_code == 403
    assert client.post("/x", headers={"Origin": ADDRESS, "Sec-Fetch-Site": "same-origin"} | BEARER).status_code == 200


def test_headers_that_stand_twice_are_refused() -> None:
    client = guarded(user_header="X-Forwarded-User")
    for name, values in (("Origin", (ADDRESS, "https://evil.example")), ("X-Forwarded-User", ("ann", "bob"))):
        twice = [(name, value) for value in values] + list(BEARER.items())
        assert client.post("/x", headers=twice).status_code == 400


def test_headers_are_of_bounded_size_and_cookies_are_cut_not_parsed() -> None:
    client = guarded()
    for much in ({"Cookie": "\\" * 64_000}, {"X-Other": "x" * 20_000}):
        answer = client.get("/api/status", headers=BEARER | much)
        assert (answer.status_code, answer.json()["kind"]) == (431, "size")
    backslashes = {"Cookie": 'quiltwork="' + "\\" * 16_000}
    assert client.get("/api/status", headers=backslashes).status_code == 401
    assert client.get("/", params={"token": TOKEN}).status_code == 200
    held = client.cookies["quiltwork"]
    others = {"Cookie": f'other="a;b"; =; ;;quiltwork={held}; quiltwork=x'}
    client.cookies.clear()
    assert client.get("/api/status", headers=others).status_code == 200


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "//", "http://\\", "null"])
def test_origins_that_are_none_are_refused(origin: str) -> None:
    answer = guarded().post("/api/plan", headers=BEARER | {"Origin": origin})
    assert (answer.status_code, answer.json()["kind"]) == (403, "origin")


def test_user_names_come_from_a_header_only_if_asked() -> None:
    named = {"X-Forwarded-User": "ann"} | BEARER
    assert guarded().get("/x", headers=named).text == "token||0"
    trusting = guarded(user_header="X-Forwarded-User")
    assert trusting.get("/x", headers=named).text == "user ann|ann|0"
    assert trusting.get("/x", headers={"X-Forwarded-User": "ann"}).status_code == 401  # the name is no token
    for name in ("", "a" * 101, "a\tb"):
        assert trusting.get("/x", headers={"X-Forwarded-User": name} | BEARER).json()["kind"] == "user"


def test_every_answer_tells_browsers_to_be_careful() -> None:
    client = guarded()
    for answer in (client.get("/x", headers=BEARER), client.get("/x"), client.get("/broken", headers=BEARER)):
        for name, value in HEADERS.items():
            assert answer.headers.get_list(name) == [value]
        assert answer.headers["cache-control"] == "no-store"
    assert "unsafe" not in HEADERS["content-security-policy"]
    assert "frame-ancestors 'none'" in HEADERS["content-security-policy"]


def test_requests_are_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "MOST_BYTES", 1000)
    client = guarded()
    assert client.post("/x", content=b"x" * 1000, headers=BEARER).text == "token||1000"
    assert client.post("/x", content=b"x" * 1001, headers=BEARER).status_code == 413

    sent = client.build_request("POST", "/x", content=(b"x" * 400 for _ in range(9)), headers=BEARER)
    assert client.send(sent).status_code == 413


def test_neither_token_nor_data_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    client = guarded()
    with caplog.at_level(logging.INFO, "quiltwork.web"):
        client.get("/", params={"token": TOKEN})
        broken = client.get("/broken", headers=BEARER)
        client.get("/x%0A2026 forged", headers=BEARER)
    assert broken.status_code == 500
    assert broken.json()["kind"] == "internal"
    assert "4711" not in caplog.text + broken.text
    assert TOKEN not in caplog.text
    assert "ValueError" in caplog.text
    assert "\n2026 forged" not in caplog.text
