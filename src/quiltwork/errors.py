"""What can go wrong, and what to do about it.

    QuiltworkError
    ├── InputError          the input is wrong                      exit code 2
    │   ├── BeliefError         a belief or a belief file
    │   ├── QueryError          a query, or one that the states do not fit
    │   ├── DataError           a data file or its contents
    │   ├── ParameterError      epsilon, length, mechanism, confidence
    │   ├── CertificateError    a certificate that does not prove what it says
    │   └── LedgerError         a ledger that cannot be used, or that was changed
    ├── BudgetError         the budget would be exceeded            exit code 3
    └── NotCoveredError     no theorem covers what was asked        exit code 4

Every message says what, got, why, next. None contains a data value.
"""


class QuiltworkError(Exception):
    """Base of every error that quiltwork raises on purpose.

    >>> print(InputError("epsilon must be positive", got="-1", why="it bounds the leak", fix="Use 1"))
    epsilon must be positive, got -1: it bounds the leak. Use 1.
    """

    exit_code = 1

    def __init__(self, what: str, *, got: str | None = None, why: str | None = None, fix: str | None = None):
        self.what, self.got, self.why, self.fix = what, got, why, fix
        message = what
        if got is not None:
            message += f", got {got}"
        if why is not None:
            message += f": {why}"
        message += "."
        if fix is not None:
            message += f" {fix}."
        super().__init__(message)


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
