"""Inner loops that numba compiles once there is enough work for them: small problems need neither numba nor a wait."""

import sys
import threading
from collections.abc import Callable
from functools import cache, cached_property, update_wrapper
from typing import Any, TypeVar, cast

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])
FEW = 100_000
"""Steps of an inner loop that Python takes about as fast as numba's compiled code is loaded."""
WAIT = "Compiling numerical code that is new to this machine: up to half a minute ..."

_interpreting = threading.local()


class Loop:
    """A function of arrays and numbers: interpreted as long as it took few steps, then compiled.

    ``steps`` estimates from the arguments how many steps a call takes. Without it a call from outside is compiled at
    once. The source is the same in both cases, and so is the result but for rounding.
    """

    def __init__(self, function: Callable[..., Any], steps: Callable[..., int] | None, options: dict[str, Any]) -> None:
        self.plain, self.steps, self.options = function, steps, options
        self.taken = 0
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """As the function itself."""
        if getattr(_interpreting, "now", False):
            return self.plain(*arguments)
        if self.steps is not None and self.taken <= FEW:
            self.taken += self.steps(*arguments)
            if self.taken <= FEW:
                return self._interpreted(arguments)
        return self.compiled(*arguments)

    def _interpreted(self, arguments: tuple[Any, ...]) -> Any:
        try:
            _interpreting.now = True
            with np.errstate(all="ignore"):  # as compiled code: infinities are meant
                return _as_compiled(self.plain(*arguments))
        finally:
            _interpreting.now = False

    @cached_property
    def compiled(self) -> Callable[..., Any]:
        """What numba makes of it. Machine code is kept beside the source, so each machine compiles once."""
        _know_loops()
        from numba import njit as numba_njit

        return cast(Callable[..., Any], numba_njit(**self.options)(self.plain))


def _as_compiled(result: Any) -> Any:
    """Numbers as compiled code returns them: Python's own."""
    if isinstance(result, tuple):
        return tuple(_as_compiled(one) for one in result)
    return result.item() if isinstance(result, np.generic) else result


def njit(*, steps: Callable[..., int] | None = None, **options: Any) -> Callable[[Function], Function]:
    """``numba.njit`` that waits until there is enough work.

    >>> @njit(steps=lambda numbers: len(numbers))
    ... def total(numbers):
    ...     added = 0.0
    ...     for number in numbers:
    ...         added += number
    ...     return added
    >>> float(total(np.ones(1000)))
    1000.0
    """

    def loop(function: Function) -> Function:
        return cast(Function, Loop(function, steps, options))

    return loop


@cache
def _know_loops() -> None:
    """Teach numba that loops may call one another, and tell whoever waits when something is compiled."""
    from numba import types
    from numba.core import event
    from numba.extending import typeof_impl

    @typeof_impl.register(Loop)
    def _(loop: Loop, _: Any) -> Any:
        return types.Dispatcher(loop.compiled)

    class FirstCompiled(event.Listener):
        said = False

        def on_start(self, event: Any) -> None:  # noqa: ARG002 - numba's form
            if not self.said:
                say(WAIT)
            self.said = True

        def on_end(self, event: Any) -> None:
            """Nothing more to say."""

    event.register("numba:compile", FirstCompiled())  # type: ignore[no-untyped-call]


def say(line: str) -> None:
    """Tell whoever waits at a terminal."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(line, file=sys.stderr)
