"""A process of its own draws: whatever becomes of it costs a picture, never a report or a value."""

import json
import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from examples import COIN
from patience import PATIENCE
from shell import run

from quiltwork import release
from quiltwork.view.charts import drawing
from quiltwork.view.charts.drawing import Pen, PictureWarning
from quiltwork.view.charts.style import shown, to_svg

SPEC = drawing.READY
BROKEN = {
    "is killed": "import os, signal; input(); os.kill(os.getpid(), signal.SIGKILL)",
    "aborts": "import os; input(); os.abort()",
    "never begins": "raise SystemExit(1)",
    "returns rubbish": "input(); print('rubbish', flush=True); input()",
    "returns other JSON": "input(); print('[1, 2]', flush=True); input()",
    "returns no picture": 'input(); print(\'{"svg": "<script>"}\', flush=True); input()',
    "returns nothing": "input(); print(flush=True); input()",
    "refuses": 'input(); print(\'{"why": "ValueError while drawing"}\', flush=True); input()',
}


@pytest.fixture
def pens() -> Iterator[list[Pen]]:
    made: list[Pen] = []
    yield made
    for pen in made:
        pen.end()


def broken(code: str, pens: list[Pen]) -> Pen:
    pens.append(Pen([sys.executable, "-c", code]))
    return pens[-1]


def test_a_picture_is_what_the_library_draws() -> None:
    import vl_convert

    assert drawing.svg_of(SPEC) == vl_convert.vegalite_to_svg(SPEC)
    first = drawing._pen.process
    assert drawing.svg_of(SPEC)
    assert drawing._pen.process is first  # one process for all pictures


@pytest.mark.parametrize("how", BROKEN)
def test_a_process_that_fails_costs_a_picture(how: str, pens: list[Pen]) -> None:
    pen = broken(BROKEN[how], pens)
    with pytest.raises(PictureWarning, match="a picture could not be drawn: "):
        pen.draw(SPEC)
    assert pen.process is None
    pen.command = drawing.Pen().command
    assert pen.draw(SPEC).startswith("<svg")  # the next one gets another process
    assert pen.patience == drawing.LONGEST


def test_a_process_that_hangs_is_ended_and_waited_for_less_and_less(pens: list[Pen]) -> None:
    pen, waited = broken("import time; time.sleep(1000)", pens), []
    pen.patience = 0.2
    for _ in range(3):
        begun = time.monotonic()
        with pytest.raises(PictureWarning, match="took longer than"):
            pen.draw(SPEC)
        waited.append(time.monotonic() - begun)
    assert pen.patience == pytest.approx(0.025)
    assert max(waited) < PATIENCE


def test_a_process_that_ended_while_it_had_nothing_to_do_costs_nothing(pens: list[Pen]) -> None:
    pens.append(Pen())
    pens[0].draw(SPEC)
    assert pens[0].process is not None
    pens[0].process.kill()
    pens[0].process.wait()
    assert pens[0].draw(SPEC).startswith("<svg")


def test_a_chart_that_cannot_be_drawn_does_not_end_the_process() -> None:
    drawing.svg_of(SPEC)
    with pytest.raises(PictureWarning, match="could not be drawn"):
        drawing.svg_of({"mark": 7})
    assert drawing.svg_of(SPEC).startswith("<svg")


def test_many_threads_may_draw() -> None:
    drawn: list[str] = []
    threads = [threading.Thread(target=lambda: drawn.append(drawing.svg_of(SPEC))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(drawn) == 6
    assert len(set(drawn)) == 1


def test_a_child_of_a_fork_draws_by_itself() -> None:
    drawing.svg_of(SPEC)
    ours = drawing._pen.process
    back, forth = os.pipe()
    child = os.fork()
    if not child:
        os.write(forth, b"1" if drawing.svg_of(SPEC).startswith("<svg") else b"0")
        drawing._pen.end()
        os._exit(0)
    os.close(forth)
    assert os.read(back, 1) == b"1"
    os.waitpid(child, 0)
    os.close(back)
    assert drawing._pen.process is ours
    assert drawing.svg_of(SPEC).startswith("<svg")


def test_what_draws_ends_with_the_program() -> None:
    code = (
        "from quiltwork.view.charts import drawing; drawing.svg_of(drawing.READY); print(drawing._pen.process.pid)\n"
        "import os, sys; sys.stdout.flush(); {}"
    )
    for end in ("", "os._exit(0)", "os.kill(os.getpid(), 9)"):
        done = subprocess.run([sys.executable, "-W", "error", "-c", code.format(end)], capture_output=True, text=True)
        assert not done.stderr
        until = time.monotonic() + PATIENCE
        while _runs(int(done.stdout)) and time.monotonic() < until:
            time.sleep(0.05)
        assert not _runs(int(done.stdout))


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_report_without_its_pictures_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pens: list[Pen]
) -> None:
    monkeypatch.setattr(drawing, "_pen", broken(BROKEN["aborts"], pens))
    result = release(["0", "1"] * 500, "histogram", belief=COIN, epsilon=1.0)
    with pytest.warns(PictureWarning, match="the process that draws ended, perhaps for lack of memory"):
        result.save(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "a picture could not be drawn: the process that draws ended" in page
    assert f"{result.numbers[0]:,}" in page
    assert "Signatures" in page


def test_a_value_survives_what_draws(tmp_path: Path) -> None:
    (tmp_path / "vl_convert.py").write_text("import os\nos.abort()\n")
    (tmp_path / "two.json").write_text(json.dumps(COIN.to_dict()))
    (tmp_path / "two.csv").write_text("\n".join(["value", *"01" * 500]))
    asked = ("release", "two.csv", "--column", "value", "--belief", "two.json", "--query", "histogram", "--epsilon", 1)
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(tmp_path)
    try:
        done = run(*asked, "--out", "report.html", "--out", "table.csv", "--json", cwd=tmp_path)
    finally:
        del os.environ["PYTHONPATH"]
        if before is not None:
            os.environ["PYTHONPATH"] = before
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("warning: a picture could not be drawn: the process that draws ended") == 1
    value = json.loads(done.stdout)["value"]
    assert str(value["0"]) in (tmp_path / "table.csv").read_text()
    assert "could not be drawn" in (tmp_path / "report.html").read_text()


def test_charts_are_drawn_as_they_were_described() -> None:
    import vl_convert

    from quiltwork.view.charts.losses import posterior_chart

    chart: Any = posterior_chart({"this release (ε = 1) <&>": 1.0})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert to_svg(chart) == vl_convert.vegalite_to_svg(shown(chart.to_dict()))
