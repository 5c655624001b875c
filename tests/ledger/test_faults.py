"""Nothing is lost when something goes wrong around a ledger: forks, files that go, lost answers, tampering."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE
from shell import answer, run

from quiltwork import BudgetError, Ledger, MarkovChain, Session, save_belief
from quiltwork.errors import LedgerError
from quiltwork.ledger import read_export, verify_export
from quiltwork.ledger.seal import Seal, new_key, read_key

COIN = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial=[0.5, 0.5])
KEY = b"a key that nobody knows"


def session(address: object, **options: object) -> Session:
    return Session(["0", "1"], belief=COIN, budget=1.0, ledger=str(address), **options)  # type: ignore[arg-type]


def alone(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=3 * PATIENCE,  # in it, something may wait for another thing
    )


LOADED = """
import gc
from quiltwork import MarkovChain, Session
Session(["0", "1"], belief=MarkovChain([[0.5, 0.5], [0.5, 0.5]]), budget=1.0).count("1", epsilon=0.1, anyway=True)
gc.freeze()
"""
"""Everything is loaded, and a child that ends looks only through what came later: five times as quick."""
FORK = """
import os, sys, threading
from quiltwork import BudgetError, MarkovChain, Session
from quiltwork.errors import LedgerError
coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial=[0.5, 0.5])
own = Session(["0", "1"], belief=coin, budget=1e4, **({"ledger": sys.argv[1]} if sys.argv[1:] else {}))
own.count("1", epsilon=0.001, anyway=True)
going = True
def work():
    while going:
        own.count("1", epsilon=0.001, anyway=True)
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
refused = 0
for n in range(10):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            own.count("1", epsilon=0.001, anyway=True)
        except LedgerError as problem:
            code = 7 if "belongs to the process that opened it" in str(problem) else 1
        os._exit(code)
    refused += os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
going = False
for thread in threads: thread.join()
own.count("1", epsilon=0.001, anyway=True)
print(refused, own.ledger.verify(), own.spent() <= 1e4)
"""


@pytest.mark.parametrize("kept", [True, False], ids=["in a file", "in memory"])
def test_a_session_belongs_to_the_process_that_opened_it(kept: bool, tmp_path: Path) -> None:
    """Forked while threads release: no child hangs, none can spend, and the parent goes on."""
    done = alone(FORK, *([tmp_path / "ledger.db"] if kept else []))
    assert done.stdout.strip() == "10 [] True", done.stderr


MIDDLE = """
import os, signal, sys, threading
from importlib.abc import MetaPathFinder
from quiltwork import Count, MarkovChain, Noisy, Session, audit

patience = float(sys.argv[2])
begun, forking = threading.Event(), threading.Event()
os.register_at_fork(before=forking.set)  # the last that was registered is called first

def middle():
    begun.set()
    forking.wait(patience)

class Stop(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1] and threading.current_thread() is not threading.main_thread():
            middle()

sys.meta_path.insert(0, Stop())
if sys.argv[1] == "compiled code":
    from numba.core.caching import FunctionCache
    from quiltwork import compiled
    compiled.FEW = 0  # else so little is interpreted
    load = FunctionCache.load_overload
    def loaded(*arguments):
        if threading.current_thread() is not threading.main_thread():
            middle()
        return load(*arguments)
    FunctionCache.load_overload = loaded

def release():
    if sys.argv[3:] == ["audit"]:
        lazy = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
        return audit(lazy, [Noisy(Count("1"), 5.0)], length=6)
    coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial=[0.5, 0.5])
    Session(["0", "1"], belief=coin, budget=1.0).count("1", epsilon=0.1, anyway=True)

thread = threading.Thread(target=release)
thread.start()
print(begun.wait(patience))
pid = os.fork()
if pid == 0:
    signal.alarm(int(patience))  # a child that hangs ends
    release()
    os._exit(7)
thread.join()
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@pytest.mark.parametrize("what", ["opendp", "quiltwork.calibration.mechanisms.curve", "compiled code"])
def test_a_fork_in_the_middle_of_the_first_release_waits_for_it(what: str) -> None:
    """A thread is in the middle of an import, or of loading compiled code, when the process forks."""
    _wait(what)


def test_a_fork_in_the_middle_of_an_audit_waits_for_it() -> None:
    _wait("compiled code", "audit")


def _wait(what: str, *more: str) -> None:
    done = alone(MIDDLE, what, PATIENCE, *more)
    assert done.stdout.split() == ["True", "7"], done.stderr


def test_who_forks_in_the_middle_of_a_release_does_not_wait_for_itself() -> None:
    script = """
import os
from quiltwork import MarkovChain, release
coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial=[0.5, 0.5])
from quiltwork.forks import working
with working():
    pid = os.fork()
    code = 0
    if pid == 0:
        release(["0", "1"], "count:1", belief=coin, epsilon=1.0, anyway=True)
        code = 7
if pid == 0:
    os._exit(code)
release(["0", "1"], "count:1", belief=coin, epsilon=1.0, anyway=True)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    assert alone(script).stdout.split() == ["7"]


def test_a_child_opens_a_session_of_its_own(tmp_path: Path) -> None:
    script = f"""{LOADED}
import os, sys
from quiltwork import BudgetError, MarkovChain, Session
coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial=[0.5, 0.5])
own = Session(["0", "1"], belief=coin, budget=0.1, ledger=sys.argv[1])
own.count("1", epsilon=0.01, anyway=True)
children = []
for n in range(2):
    pid = os.fork()
    if pid == 0:
        granted = 0
        mine = Session(["0", "1"], belief=coin, ledger=sys.argv[1])
        while True:
            try:
                mine.count("1", epsilon=0.01, anyway=True)
            except BudgetError:
                break
            granted += 1
        sys.exit(granted)  # Python ends as it does elsewhere: what it closes is its own
    children.append(pid)
print(sum(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children))
try:
    own.count("1", epsilon=0.01, anyway=True)
except BudgetError:
    print(own.ledger.verify())
"""
    assert alone(script, tmp_path / "ledger.db").stdout.split() == ["9", "[]"]


TURNS = f"""{LOADED}
import os, shutil, sys
from quiltwork import BudgetError, MarkovChain, Session
coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial=[0.5, 0.5])
path, granted = sys.argv[1], 0

def one(session):
    try:
        session.count("1", epsilon=0.1, anyway=True)
    except BudgetError:
        return 0
    return 1

own = Session(["0", "1"], belief=coin, budget=1.0, ledger=path)
granted += one(own)
if sys.argv[2] == "copy":
    shutil.copy(path, path + ".backup")  # opens and closes the file: SQLite's locks of this process are gone
else:
    pid = os.fork()
    if pid:
        own.ledger.close()
        os._exit(granted + os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    own, granted = Session(["0", "1"], belief=coin, ledger=path), 0
for _ in range(12):
    pid = os.fork()
    if pid == 0:
        sys.exit(one(Session(["0", "1"], belief=coin, ledger=path)))
    granted += os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    granted += one(own)
sys.exit(granted)
"""


@pytest.mark.parametrize("how", ["copy", "fork"])
def test_copies_and_forks_do_not_take_locks_away(how: str, tmp_path: Path) -> None:
    """Ten releases of 0.1 fit, whoever makes them, however the file is opened and closed beside them."""
    done = alone(TURNS, tmp_path / "ledger.db", how)
    assert done.returncode == 10, done.stderr
    assert len(Ledger(str(tmp_path / "ledger.db")).statement().releases()) == 10


def test_children_open_their_own_while_threads_release(tmp_path: Path) -> None:
    own = "Session(['0', '1'], belief=coin, ledger=sys.argv[1])"
    using, opening = (f'            {s}.count("1", epsilon=0.001, anyway=True)\n' for s in ("own", own))
    script = FORK.replace(f"{using}        except", f"{opening}            code = 7\n        except")
    assert own in script
    done = alone(script, tmp_path / "ledger.db")
    assert done.stdout.strip() == "10 [] True", done.stderr


def test_what_was_only_read_counts_as_seen(tmp_path: Path) -> None:
    path, older = tmp_path / "ledger.db", tmp_path / "older.db"
    own = session(path)
    own.count("1", epsilon=0.5, anyway=True)
    shutil.copy(path, older)
    script = (
        "import sys; from quiltwork import *; "
        "Session(['0', '1'], belief=MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial=[0.5, 0.5]), ledger=sys.argv[1])"
        ".count('1', epsilon=0.5, anyway=True)"
    )
    assert alone(script, path).returncode == 0
    with pytest.raises(BudgetError):
        own.count("1", epsilon=0.5, anyway=True)
    own.ledger.close()
    path.write_bytes(older.read_bytes())
    for again in (own, session(path)):
        with pytest.raises(LedgerError, match="went back"):
            again.count("1", epsilon=0.5, anyway=True)


def test_a_report_never_replaces_a_ledger(tmp_path: Path) -> None:
    path, belief, data = tmp_path / "ledger.html", tmp_path / "belief.json", tmp_path / "data.csv"
    save_belief(COIN, belief)
    data.write_text("v\n0\n1\n")
    run("ledger", "create", path, "--belief", belief, "--budget", 1, code=0)
    asked = ("release", "--anyway", data, "--column", "v", "--belief", belief, "--query", "count:1", "--epsilon", 0.1)
    for address in (path, f"sqlite:///{path}"):
        assert "of its own" in run(*asked, "--ledger", address, "--out", path, code=2).stderr
    assert "another kind of file" in run(*asked, "--out", path, code=2).stderr
    assert answer("ledger", "show", path)["spent"] == 0.0


def test_options_of_an_address_cannot_switch_locks_off(tmp_path: Path) -> None:
    for option in ("vfs=memdb", "nolock=1", "immutable=1", "mode=memory", "mode=rwc"):
        with pytest.raises(LedgerError, match=r"mode=ro or mode=rw|in a file"):
            session(f"sqlite:///file:{tmp_path}/ledger.db?{option}")


def test_counting_that_fails_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = session(tmp_path / "ledger.db")

    def broken(*_: object) -> None:
        raise RuntimeError("the file is gone")

    monkeypatch.setattr("quiltwork.question.question.Question.evaluate", broken)
    with pytest.raises(RuntimeError):
        own.count("1", epsilon=0.1, anyway=True)
    assert own.spent() == 0.0


def test_a_relative_path_stays_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own = session("ledger.db")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    own.count("1", epsilon=0.1, anyway=True)
    assert (tmp_path / "ledger.db").exists()


def test_another_ledger_without_a_key_is_not_taken_for_the_sealed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.db"
    session(path).ledger.close()
    monkeypatch.setenv("QUILTWORK_LEDGER_KEY", KEY.decode())
    with pytest.raises(LedgerError, match="created without a key"):
        Ledger(str(path))


def test_what_was_accepted_must_not_change_any_further(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ledger = Ledger.create(str(path), belief=COIN, budget=1.0, key=KEY)
    own = Session(["0", "1"], belief=COIN, ledger=ledger, who="bob")
    for _ in range(4):
        own.count("1", epsilon=0.1, anyway=True)
    ledger.close()

    def change(number: int) -> Ledger:
        with sqlite3.connect(path) as connection:
            connection.execute(
                "UPDATE quiltwork_rows SET content = replace(content, 'bob', 'eve') WHERE number = ?", (number,)
            )
        connection.close()
        return Ledger(str(path), key=KEY)

    assert change(2).accept("a test", {"who": "ann"}) == ["row 2 was changed"]
    assert Ledger(str(path), key=KEY).verify() == []
    later = change(3)
    assert "before those that were accepted was changed" in later.verify()[0]
    with pytest.raises(LedgerError, match="was changed since"):
        Session(["0", "1"], belief=COIN, ledger=later).count("1", epsilon=0.1, anyway=True)


def test_a_file_that_goes_away_stops_releases(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    own = session(path)
    own.count("1", epsilon=0.1, anyway=True)
    shutil.copy(path, tmp_path / "copy.db")
    path.unlink()
    for _ in range(2):
        with pytest.raises(LedgerError, match="not the file that was opened any more"):
            own.count("1", epsilon=0.1, anyway=True)
    assert not path.exists()  # it was not made anew
    shutil.copy(tmp_path / "copy.db", path)
    assert len(session(path).releases()) == 1  # the copy has all of it, and is opened anew


def test_an_older_copy_in_its_place_is_refused(tmp_path: Path) -> None:
    """By the session that is open (another file), and by a new one in this process (fewer rows than it has seen)."""
    path, older = tmp_path / "ledger.db", tmp_path / "older.db"
    own = session(path)
    own.count("1", epsilon=0.1, anyway=True)
    shutil.copy(path, older)
    own.count("1", epsilon=0.1, anyway=True)
    shutil.copy(older, path)  # the same file, with what was in it before
    own.ledger.close()
    with pytest.raises(LedgerError, match=r"went back.*row 3"):
        session(path).count("1", epsilon=0.1, anyway=True)
    os.replace(older, path)
    with pytest.raises(LedgerError, match="not the file that was opened"):
        own.count("1", epsilon=0.1, anyway=True)
    with pytest.raises(LedgerError, match="went back"):
        session(path).count("1", epsilon=0.1, anyway=True)


def test_a_copy_of_the_file_alone_has_everything(tmp_path: Path) -> None:
    """After each release, while the session is open: without the log, and with one that is damaged."""
    path = tmp_path / "ledger.db"
    own, copies = session(path), []
    for n in range(1, 6):
        own.count("1", epsilon=0.01, anyway=True)
        copies.append(tmp_path / f"copy{n}.db")
        shutil.copy(path, copies[-1])
    script = (
        "import sys; from quiltwork import Ledger; "
        "print(*(len(Ledger(copy).statement().releases()) for copy in sys.argv[1:]))"
    )
    assert alone(script, *copies).stdout.split() == ["1", "2", "3", "4", "5"]
    for copy in copies:
        copy.with_name(f"{copy.name}-wal").write_bytes(os.urandom(5000))
    assert alone(script, *copies).stdout.split() == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize("key", [None, KEY], ids=["hashes", "a key"])
def test_a_deleted_outcome_is_seen(key: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ledger = Ledger.create(str(path), belief=COIN, budget=1.0, key=key)
    own = Session(["0", "1"], belief=COIN, ledger=ledger)
    for _ in range(3):
        own.count("1", epsilon=0.1, anyway=True)
    ledger.close()
    for number in (3, 4):
        copy = tmp_path / f"{number}.db"
        shutil.copy(path, copy)
        with sqlite3.connect(copy) as connection:
            connection.execute("DELETE FROM quiltwork_outcomes WHERE number = ?", (number,))
        connection.close()
        assert "an outcome was removed or added" in Ledger(str(copy), key=key).verify()[0]


def test_a_broken_row_stops_releases_until_somebody_has_looked(tmp_path: Path) -> None:
    path, belief, data = tmp_path / "ledger.db", tmp_path / "belief.json", tmp_path / "data.csv"
    save_belief(COIN, belief)
    data.write_text("v\n0\n1\n")
    run("ledger", "create", path, "--belief", belief, "--budget", 1, code=0)
    asked = ("release", "--anyway", data, "--column", "v", "--belief", belief, "--query", "count:1", "--epsilon", 0.1)
    for _ in range(3):
        run(*asked, "--ledger", path, code=0)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE quiltwork_rows SET content = replace(content, '0.1', '0.2') WHERE number = 2")
    connection.close()
    refused = run(*asked, "--ledger", path, code=2)
    assert "row 2 was changed" in refused.stderr
    assert "ledger verify" in refused.stderr
    assert "row 2 was changed" in run("ledger", "verify", path, code=2).stderr
    accepted = answer("ledger", "verify", path, "--accept", "a disk error, compared with the backup", "--who", "ann")
    assert accepted["accepted"] == ["row 2 was changed"]
    done = answer(*asked, "--ledger", path)
    assert done["ledger"]["spent"] == pytest.approx(0.4)  # the kept sum was right all the time
    assert run("ledger", "verify", path).returncode == 0
    assert "accepted" in run("ledger", "show", path).stdout
    run("ledger", "export", path, "--out", tmp_path / "e.jsonl", code=0)
    assert verify_export(*read_export(tmp_path / "e.jsonl")) == []
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE quiltwork_rows SET content = replace(content, 'ann', 'eve') WHERE number = 5")
    connection.close()
    assert "row 5 was changed" in run(*asked, "--ledger", path, code=2).stderr


def test_a_changed_sum_cannot_be_accepted(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    own = session(path)
    own.count("1", epsilon=0.1, anyway=True)
    own.ledger.close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE quiltwork_kept SET epsilon = 0.0")
    connection.close()
    with pytest.raises(LedgerError, match="kept sum is not that of the last release"):
        Ledger(str(path)).accept("no", {"who": "eve"})


def test_with_a_key_hashes_cannot_be_computed_anew(tmp_path: Path) -> None:
    """Without a key a forger who writes all rows anew is not seen; with one he is, and so is a row he adds."""
    from quiltwork.ledger.rows import Row

    for key, seen in ((None, False), (KEY, True)):
        path = tmp_path / f"{seen}.db"
        ledger = Ledger.create(str(path), belief=COIN, budget=1.0, key=key)
        Session(["0", "1"], belief=COIN, ledger=ledger, who="bob").count("1", epsilon=0.1, anyway=True)
        rows, _ = ledger.rows()
        ledger.close()
        forged = Row.after(rows[0], "reserved", rows[1].time, {**rows[1].content, "who": "eve"})
        with sqlite3.connect(path) as connection:
            connection.execute(
                "UPDATE quiltwork_rows SET content = ?, hash = ? WHERE number = 2", (forged.text, forged.hash)
            )
            connection.execute("UPDATE quiltwork_kept SET hash = ?", (forged.hash,))
            connection.execute("DELETE FROM quiltwork_outcomes")
            plain = Seal().of("0 " + "0" * 64)
            connection.execute("UPDATE quiltwork_kept SET outcomes = ?", (f"0 {'0' * 64} {plain}",))
        connection.close()
        assert bool(Ledger(str(path), key=key).verify()) is seen
        if seen:
            with pytest.raises(LedgerError, match="was changed"):
                Session(["0", "1"], belief=COIN, ledger=Ledger(str(path), key=key)).count("1", epsilon=0.1, anyway=True)


def test_keys_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, belief, data, key = (tmp_path / name for name in ("ledger.db", "belief.json", "data.csv", "ledger.key"))
    save_belief(COIN, belief)
    data.write_text("v\n0\n1\n")
    created = run("ledger", "create", path, "--belief", belief, "--budget", 1, "--key", key, code=0)
    assert "new key" in created.stdout
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    asked = (
        "release",
        "--anyway",
        data,
        "--column",
        "v",
        "--belief",
        belief,
        "--query",
        "count:1",
        "--epsilon",
        0.1,
        "--ledger",
        path,
    )
    assert "sealed with a key" in run(*asked, code=2).stderr
    assert "sealed with a key" in run("ledger", "verify", path, code=2).stderr
    answer(*asked, "--key", key)
    monkeypatch.setenv("QUILTWORK_LEDGER_KEY", read_key(key).decode())
    answer(*asked)
    assert answer("ledger", "verify", path)["rows"] == 3
    run("ledger", "export", path, "--out", tmp_path / "e.jsonl", code=0)
    assert answer("ledger", "verify", tmp_path / "e.jsonl")["whole"] is True
    monkeypatch.setenv("QUILTWORK_LEDGER_KEY", "another key of some length")
    assert "another key" in run(*asked, code=2).stderr
    monkeypatch.delenv("QUILTWORK_LEDGER_KEY")
    shown = answer("ledger", "show", path)
    assert (shown["sealed"], shown["checked"]) == (True, False)
    assert "cannot be checked" in run("ledger", "show", path).stdout
    other = run("ledger", "verify", tmp_path / "e.jsonl", "--key", new(tmp_path), code=2)
    assert "sealed with another key" in other.stderr
    (tmp_path / "short.key").write_text("short")
    assert "16 to 4,096 bytes" in run(*asked, "--key", tmp_path / "short.key", code=2).stderr
    for secret in (read_key(key).decode(), "short"):
        assert secret not in path.read_bytes().decode(errors="replace")


def new(folder: Path) -> Path:
    new_key(folder / "other.key")
    return folder / "other.key"


def test_the_head_is_printed_and_can_be_asked_for(tmp_path: Path) -> None:
    path, belief, data = tmp_path / "ledger.db", tmp_path / "belief.json", tmp_path / "data.csv"
    save_belief(COIN, belief)
    data.write_text("v\n0\n1\n")
    run("ledger", "create", path, "--belief", belief, "--budget", 1, code=0)
    shutil.copy(path, tmp_path / "backup.db")
    asked = ("release", "--anyway", data, "--column", "v", "--belief", belief, "--query", "count:1", "--epsilon", 0.1)
    printed = run(*asked, "--ledger", path).stdout
    head = answer("ledger", "show", path)
    assert f"{head['head_number']}:{head['head']}" in printed
    assert f"{head['head_number']}:{head['head']}" in run("ledger", "show", path).stdout
    for asked_for in (head["head"], f"{head['head_number']}:{head['head']}"):
        assert run("ledger", "verify", path, "--head", asked_for).returncode == 0
        assert (
            "rows were cut off" in run("ledger", "verify", tmp_path / "backup.db", "--head", asked_for, code=2).stderr
        )


def test_a_dangling_link_makes_a_file_of_its_owner(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        (tmp_path / "link.db").symlink_to(tmp_path / "real.db")
        session(tmp_path / "link.db").count("1", epsilon=0.1, anyway=True)
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "real.db").stat().st_mode) == 0o600


def test_a_lost_answer_is_not_taken_for_a_refusal(server: str) -> None:
    """The connection ends while a reservation is committed, and between two releases."""
    import psycopg

    own = session(server)
    own.count("1", epsilon=0.01, anyway=True)
    with psycopg.connect(server, autocommit=True) as other:
        ends = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        other.execute(ends)
        own.count("1", epsilon=0.01, anyway=True)  # on a new connection: the old one had nothing to lose
        store = own.ledger._store
        execute = store._open.execute

        class Cut:
            """A connection that ends when a transaction is to be committed."""

            def __getattr__(self, name: str) -> object:
                return getattr(store_open, name)

            def execute(self, statement: str, values: object = None) -> object:
                if statement == "COMMIT":
                    other.execute(ends)
                return execute(statement, values)

        store_open, store._open = store._open, Cut()
        with pytest.raises(LedgerError, match=r"whether ledger .* recorded this is not known"):
            own.count("1", epsilon=0.01, anyway=True)
    assert own.ledger.verify() == []
    assert len(own.releases()) == 2
    own.count("1", epsilon=0.01, anyway=True)


def test_a_row_that_a_rule_swallows_is_noticed(server: str) -> None:
    import psycopg

    name = "swallowed"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    own = session(server.replace("/postgres?", f"/{name}?"))
    with psycopg.connect(server.replace("/postgres?", f"/{name}?"), autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION nothing() RETURNS trigger AS 'BEGIN RETURN NULL; END' LANGUAGE plpgsql; "
            "CREATE TRIGGER gone BEFORE INSERT ON quiltwork_rows FOR EACH ROW EXECUTE FUNCTION nothing()"
        )
        with pytest.raises(LedgerError, match="0 rows written instead of one"):
            own.count("1", epsilon=0.01, anyway=True)
        connection.execute("DROP TRIGGER gone ON quiltwork_rows")
        connection.execute("CREATE RULE gone AS ON INSERT TO quiltwork_rows DO INSTEAD NOTHING")
        with pytest.raises(LedgerError, match="cannot be used"):
            own.count("1", epsilon=0.01, anyway=True)
        connection.execute("DROP RULE gone ON quiltwork_rows")
        own.count("1", epsilon=0.01, anyway=True)
    assert len(own.releases()) == 1


def test_a_lock_that_is_never_released_ends_in_a_line(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import psycopg

    from quiltwork.ledger.postgresql import PostgresStore

    name = "locked"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    address = server.replace("/postgres?", f"/{name}?")
    own = session(address)
    short = PostgresStore._begin_durable[0].replace("120000", "300")
    monkeypatch.setattr(PostgresStore, "_begin_durable", (short,))
    with psycopg.connect(address) as other:
        other.execute("SELECT * FROM quiltwork_kept FOR UPDATE")
        with pytest.raises(LedgerError, match="another program keeps it locked"):
            own.count("1", epsilon=0.01, anyway=True)
    own.count("1", epsilon=0.01, anyway=True)
    with pytest.raises(BudgetError):
        own.count("1", epsilon=5.0, anyway=True)
