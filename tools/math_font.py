"""The font of the site's formulas, from the package that carries it: ``python tools/math_font.py`` (needs fonttools).

STIX Two Math, with the characters that formulas here can need. Chromium does not choose the forms of primes that are
made for superscripts (the feature ``ssty``), so they take the place of the others.
"""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

PACKAGE, FILE = "ziamath==0.13", "ziamath/fonts/STIXTwoMath-Regular.ttf"
TARGET = Path(__file__).parents[1] / "docs" / "assets" / "stix-two-math.woff"
PRIMES = {0x2032: "minute.ssty", 0x2033: "second.ssty", 0x2034: "uni2034.ssty"}
LETTERS = [(0x20, 0x7E), (0xA0, 0xFF), (0x131, 0x131), (0x237, 0x237), (0x2C6, 0x2DD), (0x300, 0x338), (0x391, 0x3F6)]
SIGNS = [(0x2010, 0x2064), (0x20D0, 0x20EF), (0x2100, 0x23E1), (0x25A0, 0x25FF), (0x27C0, 0x27FF), (0x2A00, 0x2AFF)]
STYLES = [
    (0x1D400, 0x1D467),  # bold, italic
    (0x1D49C, 0x1D4CF),  # script
    (0x1D538, 0x1D56B),  # blackboard
    (0x1D6A4, 0x1D71B),  # Greek
    (0x1D7CE, 0x1D7D7),  # bold digits
]


def main() -> None:
    """Write the font."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, PACKAGE]
        subprocess.run(command, check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            font = TTFont(archive.open(FILE), recalcTimestamp=False)
    for table in font["cmap"].tables:
        table.cmap.update({code: name for code, name in PRIMES.items() if code in table.cmap})
    keep = Subsetter(Options(layout_features=[], hinting=False))
    keep.populate(unicodes=[code for first, last in LETTERS + SIGNS + STYLES for code in range(first, last + 1)])
    keep.subset(font)
    font.flavor = "woff"
    font.save(TARGET)


if __name__ == "__main__":
    main()
