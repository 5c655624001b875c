"""Runs the notebooks of the documents in a kernel of their own, and turns them into pages of the site."""

import html
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbclient
import nbformat
from jupyter_client.manager import AsyncKernelManager

LONGEST = 300  # seconds that a cell may take
# charts become pictures, which need no network
BEFORE = "import altair, warnings\nwarnings.filterwarnings('error', module='quiltwork')\naltair.renderers.enable('svg')"


def executed(path: Path) -> Any:
    """A notebook with what its cells show, run from first to last in an empty folder; errors in cells are raised."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(BEFORE))
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as empty:
        # over files, so that no port is opened
        manager = AsyncKernelManager(transport="ipc", connection_file=f"{folder}/kernel.json")
        client = nbclient.NotebookClient(notebook, km=manager, timeout=LONGEST, resources={"metadata": {"path": empty}})
        client.execute()
    del notebook.cells[0]
    return notebook


def as_markdown(notebook: Any) -> str:
    """An executed notebook as a page: text, code and what it shows."""
    parts = []
    for cell in notebook.cells:
        parts.append(cell.source if cell.cell_type == "markdown" else f"```python\n{cell.source}\n```")
        parts += [shown for output in cell.get("outputs", ()) if (shown := _shown(output))]
    return "\n\n".join(parts) + "\n"


def _shown(output: Any) -> str:
    """What a cell shows: a page or a picture where there is one, else its text."""
    if output.output_type == "stream":
        return _text(output.text)
    data = output.data
    if "image/svg+xml" in data:
        return f"<div>{''.join(data['image/svg+xml'])}</div>"
    if "text/html" in data:
        return f"<div>{''.join(data['text/html'])}</div>"
    return _text("".join(data.get("text/plain", "")))


def _text(text: str) -> str:
    return f"<pre><code>{html.escape(text.rstrip())}</code></pre>"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        sys.stdout.write(as_markdown(executed(Path(name))))
