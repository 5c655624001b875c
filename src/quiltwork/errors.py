"""What can go wrong, and what to do about it.

    QuiltworkError
    ├── InputError          the input is wrong                      exit code 2
    │   ├── BeliefError         a belief or a belief file
    │   ├── QueryError          a query, or one that the states do not fit
    │   ├── DataError           a data file or its contents
    │   ├── ParameterError      epsilon, length, mechanism, confidence
    │   ├── CertificateError    a certificate that does not prove what it says
    │   ├── LedgerError         a ledger that cannot be used, or that was changed
    │   └── NotInstalledError   a package that is an extra
    ├── BudgetError         the budget would be exceeded            exit code 3
    └── NotCoveredError     no theorem covers what was asked        exit code 4

Every message says what, got, why, next. None contains a data value, and none what a terminal would obey.
"""

import math
import re
from collections.abc import Iterable

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters, but for tab and newline
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks that turn the direction of writing
    "\u2028\u2029\ud800-\udfff\ufdd0-\ufdef"  # separators of lines, halves of pairs, no characters
    + "".join(f"{chr(plane | 0xFFFE)}{chr(plane | 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))
    + "]"
)


def visible(text: str) -> str:
    r"""Text from outside as it may be shown: what a terminal or a page would obey instead of showing is spelled out.

    >>> visible("sit\x1b[2J\u202e"), visible("gehen ü 歩く")
    ('sit\\x1b[2J\\u202e', 'gehen ü 歩く')
    """
    return _HIDDEN.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def nearest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The known name that is spelled most like another; None if none is like it.

    >>> nearest("Walk", ["sit", "walk"]), nearest("histogramm", ["histogram"]), nearest("x", ["sit"])
    ('walk', 'histogram', None)
    """
    from difflib import get_close_matches  # needed only where something is wrong

    if len(name) > MOST_SHOWN:  # it takes long to compare, and nobody meant a name
        return None
    by_key = {one.casefold().strip(): one for one in reversed(list(known))}
    key = name.casefold().strip()
    if key in by_key:
        return by_key[key]
    found = get_close_matches(key, by_key, n=1, cutoff=cutoff)
    return by_key[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """The next step after a name that is not known: the nearest one, before what there is to choose from.

    >>> did_you_mean("wlak", ["sit", "walk"], "Choose from sit, walk")
    "Did you mean 'walk'? Choose from sit, walk"
    """
    near = nearest(name, known)
    return otherwise if near is None else f"Did you mean {near!r}?" + (f" {otherwise}" if otherwise else "")


MOST_SHOWN = 200  # characters of what was given
PARTS = 10  # times as many in each other part of a message


def cut(text: str, most: int = MOST_SHOWN) -> str:
    """Text from outside in a message: its beginning, if it is long.

    >>> cut("sit"), cut("a" * 300, 5)
    ('sit', 'aaaaa… (300 characters)')
    """
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters)"


class QuiltworkError(Exception):
    """Base of every error that quiltwork raises on purpose.

    >>> print(InputError("epsilon must be positive", got="-1", why="it bounds the leak", fix="Use 1"))
    epsilon must be positive, got -1: it bounds the leak. Use 1.
    """

    exit_code = 1

    def __init__(self, what: str, *, got: str | None = None, why: str | None = None, fix: str | None = None):
        what, got = cut(what, PARTS * MOST_SHOWN), None if got is None else cut(got)
        why, fix = (None if text is None else cut(text, PARTS * MOST_SHOWN) for text in (why, fix))
        self.what, self.got, self.why, self.fix = what, got, why, fix
        message = what
        if got is not None:
            message += f", got {got}"
        if why is not None:
            message += f": {why}"
        message += "."
        if fix is not None:
            message += f" {fix}" + "." * (not fix.endswith(("?", ".")))
        super().__init__(visible(message))


class InputError(QuiltworkError):
    """The input is wrong: correct it and call again.

    >>> InputError("x").exit_code
    2
    """

    exit_code = 2


class BeliefError(InputError):
    """A belief, or the file that holds it, does not describe what it should."""


class QueryError(InputError):
    """A query is unknown or does not fit the states."""


class DataError(InputError):
    """The data cannot be read as series over the belief's states."""


class ParameterError(InputError):
    """A number or a name passed to a function is out of range."""


class CertificateError(InputError):
    """A certificate does not prove what it says."""


class LedgerError(InputError):
    """A ledger cannot be used, is for something else, or was changed."""


class NotInstalledError(InputError):
    """Something that was asked for needs a package that is an extra of quiltwork.

    >>> print(NotInstalledError("serve", "web", got="no fastapi"))
    serve needs packages that are not installed, got no fastapi. pip install "quiltwork[web]".
    """

    def __init__(self, what: str, extra: str, *, got: str, why: str | None = None, more: str = ""):
        fix = f'pip install "quiltwork[{extra}]"{more}'
        super().__init__(f"{what} needs packages that are not installed", got=got, why=why, fix=fix)


class InternalError(QuiltworkError):
    """Two numbers that must agree do not: quiltwork itself is wrong, and nothing is released.

    >>> InternalError("x").exit_code
    1
    """

    def __init__(self, what: str, *, got: str | None = None, why: str | None = None):
        super().__init__(what, got=got, why=why, fix="Report this with the belief and the question, without data")


class BudgetError(QuiltworkError):
    """The budget would be exceeded, so nothing was released and nothing was spent.

    >>> BudgetError("x", requested=1.0, remaining=0.4, short_by=0.6).exit_code
    3
    """

    exit_code = 3

    def __init__(
        self,
        what: str,
        *,
        requested: float,
        remaining: float,
        short_by: float,
        why: str | None = None,
        fix: str | None = None,
    ):
        self.requested, self.remaining, self.short_by = requested, remaining, short_by
        needed = f"requested {requested:.6g}, remaining {remaining:.6g}, short by {short_by:.6g}"
        super().__init__(f"{what} ({needed})", why=why, fix=fix)


class NotCoveredError(QuiltworkError):
    """No theorem covers this case, so nothing is released.

    >>> NotCoveredError("x").exit_code
    4
    """

    exit_code = 4


class NoiseOnlyError(NotCoveredError):
    """The noise would leave nothing to learn, so nothing was released and nothing was spent.

    >>> NoiseOnlyError("x").exit_code, kind_of(NoiseOnlyError("x"))
    (4, 'noise-only')
    """


def kind_of(problem: QuiltworkError) -> str:
    """The kind of an error in one word, for programs that read it.

    >>> kind_of(DataError("x")), kind_of(NotCoveredError("x")), kind_of(InputError("x"))
    ('data', 'not-covered', 'input')
    """
    name = type(problem).__name__.removesuffix("Error")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def amounts_of(problem: QuiltworkError) -> dict[str, float | None]:
    """What a refusal by a budget is about; None where it is not finite, and nothing for other errors.

    >>> amounts_of(BudgetError("x", requested=1.5, remaining=1.0, short_by=0.5))
    {'requested': 1.5, 'remaining': 1.0, 'short': 0.5}
    """
    if not isinstance(problem, BudgetError):
        return {}
    named = {"requested": problem.requested, "remaining": problem.remaining, "short": problem.short_by}
    return {name: amount if math.isfinite(amount) else None for name, amount in named.items()}


def check_name(name: str, what: str, *, error: type[InputError] = InputError) -> str:
    """A name that can be shown everywhere: all its characters are visible, on one line.

    >>> check_name("sit", "a state")
    'sit'
    >>> check_name("sit\\n", "a state")
    Traceback (most recent call last):
    quiltwork.errors.InputError: the name of a state must be printable, got one with U+000A: names are shown in ...
    """
    hidden = _HIDDEN.search(name) or re.search(r"[\t\n]", name)
    if hidden is not None:
        raise error(
            f"the name of {what} must be printable",
            got=f"one with U+{ord(hidden.group()):04X}",
            why="names are shown in terminals, charts and reports",
            fix="Rename it",
        )
    return name
