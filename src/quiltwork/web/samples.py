"""Beliefs to begin with: those of the sample data, and files below the public folder."""

from functools import cache
from typing import Any

from quiltwork.web.files import BELIEFS, Folder

SAMPLES = {
    "diary_belief": "Sample: activity diary",
    "power_belief": "Sample: power of homes",
    "contagion_belief": "Sample: flu in a household",
}


@cache
def samples() -> tuple[dict[str, Any], ...]:
    """The beliefs of the sample data, in full.

    >>> [sample["label"] for sample in samples()]
    ['Sample: activity diary', 'Sample: power of homes', 'Sample: flu in a household']
    """
    from quiltwork import samples as shipped  # loads numerical libraries

    return tuple(
        {"label": label, "sample": True, "belief": getattr(shipped, name)().to_dict()}
        for name, label in SAMPLES.items()
    )


def offered(folder: Folder | None) -> list[dict[str, Any]]:
    """Beliefs to choose from: the samples in full, files by their paths."""
    files = [] if folder is None else [path for path, _ in folder.listed(BELIEFS)]
    return [*samples(), *({"label": path, "sample": False, "belief": {"path": path}} for path in files)]
