"""The command that serves the page and the JSON interface."""

from pathlib import Path
from typing import Annotated

import typer

from quiltwork.cli.options import job_options
from quiltwork.errors import NotInstalledError, ParameterError
from quiltwork.view.terminal import err

PORT = 8765


@job_options()
def serve(
    host: Annotated[
        str, typer.Option("--host", metavar="H", help="Address to serve at (default: this machine only).")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="P", help="Port; 0 for any that is free.")] = PORT,
    data_folder: Annotated[
        Path | None,
        typer.Option(
            "--data-folder",
            metavar="F",
            help="Folder with protected data files: only noisy answers come out, charged to the ledger.",
        ),
    ] = None,
    public_folder: Annotated[
        Path | None,
        typer.Option(
            "--public-folder",
            metavar="G",
            help="Folder with belief files and public data: may be shown, and checked without noise.",
        ),
    ] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Show plans and the budget only: no data and no releases.")
    ] = False,
    ledger: Annotated[
        str | None,
        typer.Option("--ledger", metavar="URL", help="Charge releases to this ledger and its budget."),
    ] = None,
    key: Path | None = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="Name under which browsers reach the service; repeatable."),
    ] = None,
    trust_user_header: Annotated[
        str | None,
        typer.Option(
            "--trust-user-header",
            metavar="HEADER",
            help="Take user names from this header. Only behind a proxy that sets it.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file",
            metavar="FILE",
            help="Keep the token in this file, and do not print it; it is made if it is not there.",
        ),
    ] = None,
    keep_folder: Annotated[
        Path | None,
        typer.Option(
            "--keep-folder",
            metavar="K",
            help="Folder for results until they are fetched, for a day at most (default: one of the current user).",
        ),
    ] = None,
    max_upload: Annotated[
        int, typer.Option("--max-upload", metavar="MIB", min=1, help="Largest file that can be sent, in MiB.")
    ] = 512,
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="S", min=1, help="Longest time for one job, in seconds.")
    ] = 600.0,
    workers: Annotated[
        int, typer.Option("--workers", metavar="N", min=1, max=64, help="Number of jobs at the same time.")
    ] = 2,
) -> None:
    """Serve a page and a JSON interface. Prints one line with the address and the token."""
    try:
        from quiltwork.web import server
        from quiltwork.web.service import Settings
    except ModuleNotFoundError as problem:
        raise NotInstalledError(
            "serve", "web", got=f"no {(problem.name or 'web').partition('.')[0]}", why="the service is an extra"
        ) from None
    if key is not None and ledger is None:
        raise ParameterError("a key is that of a ledger", got="--key without --ledger", fix="Name the ledger too")
    for name, folder in (("--data-folder", data_folder), ("--public-folder", public_folder)):
        if folder is not None and not folder.is_dir():
            raise ParameterError(f"the folder of {name} must exist", got=str(folder), fix="Create it, or name another")
    if data_folder is not None and public_folder is not None and _overlap(data_folder, public_folder):
        raise ParameterError(
            "the folders of protected and of public files must lie apart",
            got="one within the other",
            why="files below the public one are shown without noise",
            fix="Move the public files to a folder of their own",
        )
    if data_folder is not None and ledger is None and not read_only:
        raise ParameterError(
            "protected files need a ledger",
            got="--data-folder without --ledger",
            why="every answer about them is charged to a budget",
            fix="quiltwork ledger create URL --belief B --budget E --column C, then --ledger URL; for belief files and "
            "public data use --public-folder",
        )
    if not server.is_loopback(host):
        err.print(
            "warning: other machines can reach the service, and its connections are not encrypted. Use a reverse proxy "
            "with HTTPS in front of it."
        )
    settings = Settings(
        token=server.new_token() if token_file is None else server.token_in(token_file),
        hosts=tuple(allow_host or ()),
        data_folder=data_folder,
        public_folder=public_folder,
        read_only=read_only,
        ledger=ledger,
        key=key,
        user_header=trust_user_header,
        max_upload=max_upload * 2**20,
        time_limit=time_limit,
        workers=workers,
        kept=keep_folder,
    )

    def say(address: str, with_token: str) -> None:
        print(f"quiltwork serves {with_token if token_file is None else address}", flush=True)

    server.serve(settings, host=host, port=port, say=say)


def _overlap(one: Path, other: Path) -> bool:
    first, second = one.resolve(), other.resolve()
    return first.is_relative_to(second) or second.is_relative_to(first)
