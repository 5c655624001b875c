"""The application: pages and the JSON interface, behind the door."""

import asyncio
import base64
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from importlib.resources import files as package_files
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response, StreamingResponse
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from quiltwork import __version__
from quiltwork.errors import QuiltworkError
from quiltwork.view.html import style
from quiltwork.view.terminal import json_line
from quiltwork.web import job_files, pages
from quiltwork.web.guard import Client, Guard
from quiltwork.web.jobs import CANCELLED, Job
from quiltwork.web.models import (
    BeliefForm,
    CheckForm,
    ColumnsForm,
    ComposeForm,
    EditForm,
    JobForm,
    JobText,
    PlanForm,
    RehearseForm,
    ReleaseForm,
)
from quiltwork.web.refusals import RefusedError, from_validation, status_of
from quiltwork.web.samples import offered
from quiltwork.web.service import Service, Settings
from quiltwork.web.worker import refusal

LONGEST_WAIT = 60.0
TIDY = 60.0  # seconds between looks at old uploads
BEAT = 15.0  # seconds between signs of life of a stream of events
KINDS = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
}
TOO_LATE = RefusedError("it is too late: the release is being drawn, and its budget is spent.", "too-late", 409)
Wait = Annotated[
    float,
    Query(ge=0, le=LONGEST_WAIT, description="Seconds to wait for the result, before 202 and a job are the answer."),
]
Latest = Annotated[
    bool, Query(description="Take the place of what this browser asked for before, here and with `latest`.")
]


class Json(Response):
    """JSON in which everything that a page or a terminal would obey is escaped."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """As the command prints it."""
        return json_line(content).encode()


class Application(Guard):
    """The service behind its door, as an ASGI application."""

    service: Service

    def stop(self) -> None:
        """Begin to stop: nothing new begins, and jobs are cancelled so that nobody waits for them any more.

        It is called from a handler of signals, which must not wait for a lock.
        """
        self.service.pool.closing = True
        threading.Thread(target=self.service.pool.close, daemon=True).start()

    def close(self) -> None:
        """Cancel jobs, end the workers and delete uploads."""
        self.service.close()


def create_app(settings: Settings) -> Application:
    """The application for these settings. It has started its workers; ``close`` ends them."""
    service = Service(settings)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        tidying = asyncio.create_task(_tidy(service))
        yield
        tidying.cancel()
        await asyncio.to_thread(service.close)

    app = FastAPI(
        title="quiltwork",
        version=__version__,
        description="Private releases from correlated data. Objects are those that the command prints with `--json`.",
        docs_url=None,
        redoc_url=None,
        lifespan=life,
        default_response_class=Json,
    )
    app.state.service = service
    app.include_router(api)
    static = package_files("quiltwork.web") / "static"
    app.add_api_route("/static/page.css", _style, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=str(static)), name="static")
    app.add_api_route("/", _landing, include_in_schema=False, response_class=HTMLResponse)
    for page in pages.NAVIGATION:
        app.add_api_route(f"/{page['name']}", _work, include_in_schema=False, response_class=HTMLResponse)
    app.add_api_route("/docs", _docs, include_in_schema=False, response_class=HTMLResponse)
    app.add_exception_handler(RefusedError, _refused)
    app.add_exception_handler(QuiltworkError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    guard = Application(
        app,
        token=settings.token,
        hosts=settings.hosts,
        any_address=settings.any_address,
        user_header=settings.user_header,
        cookie=settings.cookie,
        sign_in_page=pages.sign_in,
        signed_in_page=pages.signed_in,
    )
    guard.service = service
    return guard


async def _tidy(service: Service) -> None:
    """Delete uploads that nobody uses any more, while the service runs."""
    while True:
        await asyncio.sleep(TIDY)
        await asyncio.to_thread(service.uploads.forget_old)


def _refused(_: Request, problem: Exception) -> Response:
    if isinstance(problem, RefusedError):
        return Json(problem.content, problem.status)
    content = refusal(problem, {})
    return Json(content, status_of(content))


def _invalid(_: Request, problem: Exception) -> Response:
    content = from_validation(list(problem.errors()) if isinstance(problem, RequestValidationError) else [])
    return Json(content, 400 if content["kind"] == "json" else 422)


def _http(_: Request, problem: Exception) -> Response:
    status = problem.status_code if isinstance(problem, HTTPException) else 500
    said = {404: "there is no such page.", 405: "this method is not offered here."}.get(status, "the request is wrong.")
    return Json({"error": said, "kind": "http", "exit_code": 2}, status)


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _client(request: Request) -> Client:
    client: Client = request.state.client
    return client


Served = Annotated[Service, Depends(_service)]
Asking = Annotated[Client, Depends(_client)]
api = APIRouter(prefix="/api", tags=["interface"])


async def _landing(service: Served, client: Asking) -> HTMLResponse:
    return HTMLResponse(pages.landing(service.status(client)))


async def _work(request: Request, service: Served, client: Asking) -> HTMLResponse:
    return HTMLResponse(pages.work(request.url.path.strip("/"), service.status(client)))


async def _style() -> Response:
    """The colours and letters that reports have too."""
    return Response(style(), media_type="text/css")


async def _docs(request: Request) -> HTMLResponse:
    return HTMLResponse(pages.interface(request.app.openapi()))


@api.get("/status")
async def status(service: Served, client: Asking) -> Response:
    """What this service offers."""
    return Json(service.status(client))


@api.get("/beliefs")
async def beliefs(service: Served) -> Response:
    """List beliefs to choose from: samples, and belief files below the public folder."""
    folder = None if service.settings.read_only else service.public
    return Json({"beliefs": await asyncio.to_thread(offered, folder)})


@api.post("/belief")
async def belief(form: BeliefForm, service: Served, client: Asking, wait: Wait = 30) -> Response:
    """Read a belief: what it says, as `belief show --json`, and the whole of it."""
    return await _outcome(service.work("belief", client, _given(form)), wait)


@api.post("/belief/edit")
async def edit(form: EditForm, service: Served, client: Asking, wait: Wait = 30) -> Response:
    """Change one thing in a chain: the answer is the changed belief, as `/api/belief` shows it. Rows still sum to 1."""
    return await _outcome(service.work("edit", client, _given(form), first=True), wait)


@api.post("/belief/check")
async def check(form: CheckForm, service: Served, client: Asking, wait: Wait = 30) -> Response:
    """Compare a belief with a file below the public folder, as `belief check --json`."""
    return await _outcome(service.check(client, _given(form)), wait)


@api.post("/plan")
async def plan(
    form: PlanForm,
    service: Served,
    client: Asking,
    wait: Wait = 30,
    latest: Latest = False,
) -> Response:
    """Show how much noise each mechanism needs, as `plan --json`. Reads no data and spends nothing."""
    return await _outcome(service.plan(client, _given(form), latest=latest), wait)


@api.post("/preview")
async def rehearse(
    form: RehearseForm, service: Served, client: Asking, wait: Wait = 30, latest: Latest = False
) -> Response:
    """Show a question's noise, and how its answer would look on data that the belief makes up. Spends nothing."""
    return await _outcome(service.plan(client, _given(form), latest=latest, kind="rehearse"), wait)


@api.post("/compose")
async def compose(form: ComposeForm, service: Served, client: Asking, wait: Wait = 30) -> Response:
    """Compute the total privacy loss of several releases, as `compose --json`."""
    return await _outcome(service.work("compose", client, _given(form)), wait)


@api.post("/release")
async def release(form: ReleaseForm, service: Served, client: Asking, wait: Wait = 30) -> Response:
    """Preview a release: its cost, its noise, and what would remain. Then `{"confirm": ..}` makes it.

    The preview spends nothing. It returns `confirm`, which can be used once and for ten minutes. The release is the
    object that `release --json` prints.
    """
    if form.confirm is not False:
        return await _outcome(service.confirm(client, form.confirm), wait)
    return await _outcome(service.preview(client, _given(form)), wait)


@api.post("/job/fields")
async def job_fields(form: JobText) -> Response:
    """Read a job file: the fields of a release, and the names of those that only the service sets. Opens no file."""
    return Json(job_files.form_of(form.text, JobForm.model_fields))


@api.post("/job/text")
async def job_text(form: JobForm) -> Response:
    """Write a job file from the fields of a release."""
    return Json({"text": job_files.text_of(_given(form))})


@api.get("/ledger")
async def ledger(service: Served, client: Asking, wait: Wait = 30) -> Response:
    """Show what was spent, by whom, and what remains, as `ledger show --json`."""
    return await _outcome(service.ledger("ledger", client), wait)


@api.get("/ledger/shown")
async def account(service: Served, client: Asking, wait: Wait = 30) -> Response:
    """Show the ledger as the page does: text, tables, and charts as Vega-Lite."""
    return await _outcome(service.ledger("account", client), wait)


@api.get("/ledger/belief")
async def ledger_belief(service: Served, client: Asking, wait: Wait = 30) -> Response:
    """Describe the belief that the ledger is for, as `belief show --json`."""
    return await _outcome(service.ledger("ledger-belief", client), wait)


@api.get("/ledger/verify")
async def verify(service: Served, client: Asking, wait: Wait = 30) -> Response:
    """Check the ledger for changed, removed or added rows, as `ledger verify --json`."""
    return await _outcome(service.ledger("verify", client), wait)


@api.get("/ledger/export")
async def export(service: Served, client: Asking, wait: Wait = 30) -> Response:
    """Export the ledger, as `ledger export --json`."""
    return await _outcome(service.ledger("export", client), wait)


@api.get("/ledger/export.jsonl")
async def export_file(service: Served, client: Asking) -> Response:
    """Download the ledger as a file that `ledger verify` checks, as `ledger export --out` writes it."""
    job = service.ledger("export", client)
    answer = await _outcome(job, LONGEST_WAIT)
    if job.result is None:
        return answer
    lines = [json_line(line) for line in (*job.result["rows"], *job.result["outcomes"])]
    saved = {"Content-Disposition": 'attachment; filename="ledger.jsonl"'}
    return Response("\n".join([*lines, ""]), media_type="application/x-ndjson", headers=saved)


@api.get("/files")
async def files(service: Served) -> Response:
    """List the protected files below the folder of data, by name, and the files below the public folder."""
    return Json({"files": await asyncio.to_thread(service.files)})


@api.post("/columns")
async def columns(form: ColumnsForm, service: Served, client: Asking, wait: Wait = 30) -> Response:
    """List the columns of a public file, or of one that was sent, with their types and no values."""
    return await _outcome(service.work("columns", client, _given(form)), wait)


@api.get("/uploads")
async def uploads(service: Served, client: Asking) -> Response:
    """List the files that this client has sent."""
    return Json({"uploads": [upload.to_dict() for upload in service.uploads.of(client.owner)]})


@api.post("/uploads", openapi_extra={"requestBody": {"content": {"application/octet-stream": {}}, "required": True}})
async def upload(
    request: Request, service: Served, client: Asking, name: Annotated[str, Query(min_length=1, max_length=500)]
) -> Response:
    """Send a data file as the body. It is deleted after an hour without use, and when the service ends."""
    service.check_writable()
    declared = request.headers.get("content-length", "")
    size = int(declared) if declared.isdecimal() else None
    try:
        async with asyncio.timeout(service.settings.upload_seconds):
            kept = await service.uploads.receive(client.owner, name, request.stream(), declared=size)
    except TimeoutError:
        raise RefusedError(f"the file must arrive within {service.settings.upload_seconds:g} s.", "time", 408) from None
    return Json(kept.to_dict(), 201)


@api.delete("/uploads/{name}", status_code=204)
async def delete_upload(name: str, service: Served, client: Asking) -> Response:
    """Delete a file that was sent."""
    service.uploads.delete(service.uploads.get(client.owner, name))
    return Response(status_code=204)


@api.get("/jobs")
async def jobs(service: Served, client: Asking) -> Response:
    """List the jobs of this client, of results only what a release asked and answered: `/api/jobs/{name}` has all."""
    found = await asyncio.to_thread(service.jobs, client)
    return Json({"jobs": [job.to_dict(brief=True) for job in found]})


@api.get("/jobs/{name}")
async def job(name: str, service: Served, client: Asking) -> Response:
    """Show how far a job is, with its result or its refusal when it is done."""
    found = await asyncio.to_thread(service.job, client, name)
    return Json(found.to_dict(), background=_taken(found))


@api.delete("/jobs/{name}")
async def cancel(name: str, service: Served, client: Asking) -> Response:
    """Cancel a job. A release that is being drawn cannot be cancelled."""
    found = service.job(client, name)
    if not service.pool.cancel(found):
        raise TOO_LATE
    return Json(found.to_dict())


@api.get("/jobs/{name}/events", response_class=StreamingResponse)
async def events(name: str, service: Served, client: Asking) -> StreamingResponse:
    """Follow a job: server-sent events, each with the object that the job shows; the last one is its outcome."""
    return StreamingResponse(_events(service, service.job(client, name)), media_type="text/event-stream")


@api.get("/jobs/{name}/files/{ending}")
async def file(name: str, ending: str, service: Served, client: Asking) -> Response:
    """Download a release: `csv`, `parquet`, `json`, `md` or `html` (the report)."""
    found = service.job(client, name).files.get(ending)
    if found is None or ending not in KINDS:
        raise RefusedError("there is no such file.", "unknown", 404)
    saved = {"Content-Disposition": f'attachment; filename="release.{ending}"'}
    return Response(base64.b64decode(found), media_type=KINDS[ending], headers=saved)


@api.get("/jobs/{name}/shown")
async def shown(name: str, service: Served, client: Asking) -> Response:
    """Show a release as the page does: text, tables, and charts as Vega-Lite."""
    found = service.job(client, name).shown_as
    if found is None:
        raise RefusedError("there is nothing to show of this job. Its result and its files are there.", "unknown", 404)
    return Json(found)


def _given(form: Any) -> dict[str, Any]:
    """What was given, and nothing else."""
    content: dict[str, Any] = form.model_dump(exclude_unset=True)
    content.pop("confirm", None)
    return content


async def _outcome(job: Job, wait: float) -> Response:
    """The result of a job if it comes soon, and else where to look for it."""
    with _Listening(job) as changes:
        loop = asyncio.get_running_loop()
        until = loop.time() + wait
        while job.finished is None and (left := until - loop.time()) > 0:
            await changes.next(left)
    if job.finished is None:
        where = f"/api/jobs/{job.id}"
        return Json(job.to_dict() | {"events": f"{where}/events"}, 202, headers={"Location": where})
    headers = {"X-Quiltwork-Job": job.id}
    if job.result is not None:
        return Json(job.result, headers=headers, background=_taken(job))
    content = job.refusal or CANCELLED
    return Json(content, status_of(content), headers=headers)


def _taken(job: Job) -> BackgroundTask | None:
    """What is done once a result was sent."""
    return None if job.result is None or job.on_taken is None else BackgroundTask(job.on_taken)


async def _events(service: Service, job: Job) -> AsyncIterator[str]:
    with _Listening(job) as changes:
        told = -1
        while True:
            if job.version != told:
                told = job.version
                name = "end" if job.finished is not None else "progress"
                yield f"event: {name}\ndata: {json_line(job.to_dict())}\n\n"
            if job.finished is not None or service.pool.closing:
                if job.result is not None and job.on_taken is not None:
                    await asyncio.to_thread(job.on_taken)  # it was sent
                return
            if not await changes.next(BEAT):
                yield ": still here\n\n"


class _Listening:
    """Wakes a coroutine when a job changes, which happens in another thread."""

    def __init__(self, job: Job):
        self._job, self._loop, self._event = job, asyncio.get_running_loop(), asyncio.Event()
        self._listener: Callable[[], None] = self._wake

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the service has ended
            self._loop.call_soon_threadsafe(self._event.set)

    def __enter__(self) -> "_Listening":
        self._job.listeners.append(self._listener)
        return self

    def __exit__(self, *_: object) -> None:
        self._job.listeners.remove(self._listener)

    async def next(self, seconds: float) -> bool:
        """Wait for the next change; False if there was none."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return False
        self._event.clear()
        return True
