"""Names that are loaded when they are asked for."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import quiltwork

AT_ONCE = """
import sys, threading, quiltwork
sys.setswitchinterval(1e-6)
ready, wrong = threading.Barrier(8), []

def ask(names):
    ready.wait()
    for name in names:
        try:
            getattr(quiltwork, name)
        except Exception as problem:
            wrong.append(repr(problem))

names = quiltwork.__all__
threads = [threading.Thread(target=ask, args=(names[n * 10:] + names[:n * 10],)) for n in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(wrong)
"""


def test_a_name_that_is_not_there_has_one_that_is_like_it() -> None:
    with pytest.raises(AttributeError, match="no attribute 'MarkovChian'") as caught:
        quiltwork.MarkovChian  # type: ignore[attr-defined]  # noqa: B018 - it is not there
    assert (caught.value.name, caught.value.obj) == ("MarkovChian", quiltwork)
    assert {"MarkovChain", "__version__", "__doc__"} <= set(dir(quiltwork))


def test_threads_may_ask_for_names_at_the_same_time() -> None:
    done = subprocess.run([sys.executable, "-c", AT_ONCE], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr


def test_it_can_be_imported_from_an_archive(tmp_path: Path) -> None:
    source = Path(quiltwork.__file__).parent
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for file in [*source.rglob("*.py"), *source.rglob("*.pyi")]:
            archive.write(file, Path("quiltwork") / file.relative_to(source))
    there = f"import sys; sys.path.insert(0, {str(tmp_path / 'all.zip')!r})"
    code = f"{there}; import quiltwork as q; print(q.__file__, q.MarkovChain)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "all.zip" in done.stdout, done.stderr
    assert "MarkovChain" in done.stdout
