"""What the service holds while it runs: its settings, jobs, uploads, plans it has made, releases to be confirmed."""

import json
import secrets
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quiltwork import __version__
from quiltwork.data.text_files import ENDINGS, ending_of
from quiltwork.ledger.seal import key_of_environment, read_key
from quiltwork.releases.keep import Kept, usual_folder
from quiltwork.web.files import BELIEFS, Folder, Upload, Uploads
from quiltwork.web.guard import Client
from quiltwork.web.jobs import Job, Pool
from quiltwork.web.refusals import RefusedError

MOST_PLANS = 256
CALIBRATED = ("belief", "query", "epsilon", "length", "secrets", "secret_times", "guarantee", "state_values")
MOST_CONFIRMATIONS = 100
CONFIRM_WITHIN = 600.0
READ_ONLY = RefusedError("this service is read-only: it shows plans and the budget.", "read-only", 403)
NO_LEDGER = RefusedError("this service keeps no ledger. Start it with --ledger URL.", "ledger", 404)
NOT_PUBLIC = RefusedError(
    "a belief is checked on public data only. Put the file into the folder of --public-folder: what a check says about "
    "it is shown without noise.",
    "path",
    403,
)
UNKNOWN = RefusedError("there is no such job, or it was forgotten.", "unknown", 404)
BUSY = RefusedError("too many requests wait already. Try again in a while.", "busy", 429)
PROGRAM = f"quiltwork serve, quiltwork {__version__}"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the service was started."""

    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "::1")
    any_address: bool = False
    """Whether it may be reached under any numeric address; never under a name that was not allowed."""
    data_folder: Path | None = None
    """Protected files: nothing but noise comes out of them."""
    public_folder: Path | None = None
    """Belief files and public data: may be shown and checked."""
    read_only: bool = False
    ledger: str | None = field(default=None, repr=False)
    key: Path | None = None
    user_header: str | None = None
    max_upload: int = 512 * 2**20
    time_limit: float = 600.0
    upload_seconds: float = 600.0
    workers: int = 2
    cookie: str = "quiltwork"
    kept: Path | None = None
    """Where results are kept until they are fetched; in the user's folder if left out."""


@dataclass(frozen=True)
class _Confirmation:
    owner: str
    ask: dict[str, Any]
    shown: dict[str, str]
    worker: int | None
    until: float


class Service:
    """The state behind the interface."""

    def __init__(self, settings: Settings):
        self.settings = settings
        self.protected = None if settings.data_folder is None else Folder(settings.data_folder)
        self.public = None if settings.public_folder is None else Folder(settings.public_folder)
        self.uploads = Uploads(most_bytes=settings.max_upload)
        key = key_of_environment() if settings.key is None else read_key(settings.key)
        self._key = settings.token.encode() if key is None else key  # a token that changes has other results
        self.kept = Kept(settings.kept or usual_folder() / "serve", key=self._key)
        self.pool = Pool(workers=settings.workers, time_limit=settings.time_limit)
        self._plans: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._calibrated: OrderedDict[str, int] = OrderedDict()  # which worker remembers the calibration
        self._confirmations: dict[str, _Confirmation] = {}
        self._checks: OrderedDict[str, dict[str, Any]] = OrderedDict()  # the last check of each belief
        self._lock = threading.Lock()

    def close(self) -> None:
        """Cancel jobs and delete uploads."""
        self.pool.close()
        self.uploads.close()

    def status(self, client: Client) -> dict[str, Any]:
        """What the service offers."""
        settings = self.settings
        return {
            "version": __version__,
            "read_only": settings.read_only,
            "ledger": settings.ledger is not None,
            "data_folder": self.protected is not None,
            "public_folder": self.public is not None,
            "user": client.name,
            "max_upload": settings.max_upload,
            "time_limit": settings.time_limit,
        }

    def check_writable(self) -> None:
        """Refuse what a read-only service does not do."""
        if self.settings.read_only:
            raise READ_ONLY

    def plan(self, client: Client, ask: dict[str, Any], *, latest: bool, kind: str = "plan") -> Job:
        """A job for a plan; one that was made before is done at once. With ``latest`` it takes the place of others."""
        ask, shown = self._resolved(client, ask, None)
        key = None if shown else f"{kind} {json.dumps(ask, sort_keys=True)}"  # a file may change
        known = None if key is None else self._known(key)
        job = Job(kind, client.owner, ask, shown)
        if known is not None:
            self.pool.finish(job, "done", result=known)
            return job
        if key is not None:
            calibration = json.dumps({name: ask.get(name) for name in CALIBRATED}, sort_keys=True)
            job.prefer = self._calibrated.get(calibration)
            job.on_done = lambda job, result: self._keep(key, result, calibration, job.worker)
        return self._begun(job, replaces=f"{kind} of {client.owner}" if latest else None, first=latest)

    def work(self, kind: str, client: Client, ask: dict[str, Any], *, first: bool = False) -> Job:
        """A job of any kind that spends nothing. Data are public here, or those of the client."""
        ask, shown = self._resolved(client, ask, self.public)
        return self._begun(Job(kind, client.owner, ask, shown), first=first)

    def check(self, client: Client, ask: dict[str, Any]) -> Job:
        """A job that compares a belief with public data: what it says of them is shown without noise."""
        self.check_writable()
        if ask["data"].get("path") is None:
            raise NOT_PUBLIC
        ask, shown = self._resolved(client, ask, self.public)

        def found(_: Job, answer: dict[str, Any]) -> dict[str, Any]:
            checked = answer["checked"]
            with self._lock:
                before = self._checks.get(checked["belief"])
                if before is None or before["outcome"] != "refuted":  # a refutation stays
                    self._checks[checked["belief"]] = checked
                while len(self._checks) > MOST_PLANS:
                    self._checks.popitem(last=False)
            return answer

        return self._begun(Job("check", client.owner, ask, shown, on_done=found))

    def files(self) -> list[dict[str, object]]:
        """The files that can be named: protected ones by their names alone, for their sizes tell about values."""
        self.check_writable()
        found: list[dict[str, object]] = []
        for name, _ in [] if self.protected is None else self.protected.listed(ENDINGS):
            found.append({"path": name, "folder": "data"})
        for name, size in [] if self.public is None else self.public.listed((*ENDINGS, *BELIEFS)):
            found.append({"path": name, "folder": "public", "bytes": size, "belief": ending_of(name) in BELIEFS})
        return found

    def ledger(self, kind: str, client: Client) -> Job:
        """A job about the ledger; it goes before others, for it is quick."""
        if self.settings.ledger is None:
            raise NO_LEDGER
        return self.work(kind, client, self._book(), first=True)

    def preview(self, client: Client, ask: dict[str, Any]) -> Job:
        """A job that says what a release would cost, and how it can be confirmed."""
        self.check_writable()
        ask, shown = self._resolved(client, ask, self.protected)
        name = secrets.token_urlsafe(16)
        ask |= self._book() | {"confirmation": name, "who": client.name, "program": PROGRAM}
        with self._lock:
            ask["checks"] = dict(self._checks)

        def previewed(job: Job, answer: dict[str, Any]) -> dict[str, Any]:
            confirmed = ask | {"record": answer["record"], "was": answer["file"]}
            until = time.monotonic() + CONFIRM_WITHIN
            with self._lock:
                while len(self._confirmations) >= MOST_CONFIRMATIONS:
                    del self._confirmations[next(iter(self._confirmations))]
                self._confirmations[name] = _Confirmation(client.owner, confirmed, shown, job.worker, until)
            return {"confirm": name, "expires_in": CONFIRM_WITHIN, **answer["preview"]}

        return self._begun(Job("preview", client.owner, ask, shown, on_done=previewed))

    def confirm(self, client: Client, name: str) -> Job:
        """A job that draws what was previewed; a confirmation can be used once."""
        self.check_writable()
        with self._lock:
            found = self._confirmations.get(name)
            if found is None or found.owner != client.owner or found.until < time.monotonic():
                raise RefusedError(
                    "the confirmation is not known, was used, or is too old. Ask for a new preview.",
                    "confirmation",
                    409,
                )
            del self._confirmations[name]

        job = Job("confirm", client.owner, {}, found.shown, prefer=found.worker)
        place = {"folder": str(self.kept.folder), "key": self._key.decode("latin-1"), "name": job.id}
        job.ask = found.ask | {"keep": place | {"owner": _group(client)}}
        return self._begun(self._released(job), first=True)

    def _released(self, job: Job) -> Job:
        """A job whose result is kept until somebody has it."""

        def released(job: Job, answer: dict[str, Any]) -> dict[str, Any]:
            job.files, job.shown_as = answer["files"], answer["shown"]
            content: dict[str, Any] = answer["result"]
            return content

        job.on_done, job.kept = released, lambda: self.kept.get(job.id)
        job.on_taken = lambda: self.kept.remove(job.id)
        return job

    def job(self, client: Client, name: str) -> Job:
        """A job of this client, or a release that this client made when the service ran before."""
        job = self.pool.get(name, client.owner) or self._from_before(client, name)
        if job is None:
            raise UNKNOWN
        return job

    def jobs(self, client: Client) -> list[Job]:
        """The jobs of this client, the latest last; those from before first."""
        found = (self._from_before(client, name) for name in self.kept)
        before = [job for job in found if job is not None]
        return before + [job for job in self.pool.of(client.owner) if job not in before]

    def _from_before(self, client: Client, name: str) -> Job | None:
        answer = None if name in self.pool else self.kept.get(name)
        if answer is None or answer.get("owner") != _group(client):
            return None
        job = self._released(Job("confirm", client.owner, {}, id=name))
        self.pool.adopt(job, answer)
        return job

    def _begun(self, job: Job, *, replaces: str | None = None, first: bool = False) -> Job:
        if not self.pool.submit(job, replaces=replaces, first=first):
            raise BUSY
        return job

    def _book(self) -> dict[str, Any]:
        key = self.settings.key
        return {"ledger": self.settings.ledger, "key": None if key is None else str(key)}

    def _resolved(
        self, client: Client, ask: dict[str, Any], folder: Folder | None
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """The request with files in place of names, and the names that messages have for these files.

        Beliefs are files of the public folder; data are those of ``folder``, or were sent.
        """
        resolved, shown = dict(ask), {}
        belief, data = ask.get("belief"), ask.get("data")
        if isinstance(belief, dict) and set(belief) == {"path"}:
            self.check_writable()
            path = _within(self.public, str(belief["path"]), BELIEFS)
            resolved["belief"], shown[str(path)] = {"file": str(path)}, str(belief["path"])
        elif isinstance(belief, dict) and set(belief) == {"file"}:
            resolved["belief"] = {}  # only the service names files
        if data is not None:
            self.check_writable()
            sent = data.get("upload")
            if sent is not None:
                upload: Upload = self.uploads.get(client.owner, sent)
                path, name = upload.path, upload.name
            else:
                name = data["path"]
                path = _within(folder, name, ENDINGS)
            resolved["data"] = {"file": str(path), "name": name, "sent": sent is not None}
            shown[str(path)] = name
        return resolved, shown

    def _known(self, key: str) -> dict[str, Any] | None:
        with self._lock:
            if key in self._plans:
                self._plans.move_to_end(key)
            return self._plans.get(key)

    def _keep(self, key: str, result: dict[str, Any], calibration: str, worker: int | None) -> dict[str, Any]:
        with self._lock:
            self._plans[key] = result
            while len(self._plans) > MOST_PLANS:
                self._plans.popitem(last=False)
            if worker is not None:
                self._calibrated[calibration] = worker
                while len(self._calibrated) > MOST_PLANS:
                    self._calibrated.popitem(last=False)
        return result


def _group(client: Client) -> str:
    """Who may have a result after a restart: the user, or without users whoever has the token and the job's name."""
    return "token" if client.name is None else f"user {client.name}"


def _within(folder: Folder | None, name: str, endings: tuple[str, ...]) -> Path:
    if folder is None:
        raise RefusedError(
            "this service reads no such paths. Start it with --data-folder for protected data, or --public-folder for "
            "belief files and public data; or send the file.",
            "path",
            403,
        )
    return folder.file(name, endings)
