"""What was said: a question as a name and its arguments. ``bind`` makes of it what is computed.

A query is data: its text, its form in a record and the query itself lead to each other (``question/table.py`` has an
entry for each kind). A name of a state that could be taken for something else is written as a JSON string:
``count:"a|b"``.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from quiltwork.errors import QueryError, nearest

if TYPE_CHECKING:
    from quiltwork.question.question import Question

Arg = Any
"""Text, a number, or a tuple of such; of a function of your own the function."""
StepVariables = tuple[tuple[str, tuple[str, ...]], ...]
SPECIAL = ':,|&="*'
OVER = " over "
SMALLEST, LARGEST = Fraction(1, 10**50), Fraction(10**50)
"""Between these sizes numbers in a question are not lost in rounding."""


@dataclass(frozen=True)
class Query:
    """A question as it was said: its kind, its arguments, and the variables of a record that it is about.

    ``over`` has variables with their weights; all variables if it is empty. ``about`` says what the question was bound
    to where its words alone do not: real values, or records over time with these variables.

    >>> from quiltwork import Count, parse_query
    >>> Count("walk"), Count("walk") == parse_query("count:walk"), Count("walk").to_dict()
    (Query('count:walk'), True, {'kind': 'count', 'state': 'walk'})
    """

    kind: str
    args: tuple[tuple[str, Arg], ...] = ()
    over: tuple[tuple[str, Fraction], ...] = ()
    about: Literal["numbers"] | StepVariables | None = None

    def __repr__(self) -> str:
        return f"Query({self.text!r})"

    def __getitem__(self, name: str) -> Arg:
        return dict(self.args).get(name)

    @property
    def text(self) -> str:
        """The query as written on the command line; :func:`parse_query` reads it back."""
        text = self.entry.write(self)
        return text if not self.over else f"{text}{OVER}{','.join(_weighed(*one) for one in self.over)}"

    @property
    def entry(self) -> "Kind":
        """What is known of its kind."""
        return kind_of(self.kind)

    @property
    def undivided(self) -> "Query":
        """The counts or the sum that a share or a mean is made of; any other query as it is."""
        return self if self.entry.divided is None else replace(self, kind=self.entry.divided)

    def with_args(self, **args: Arg) -> "Query":
        """The same with other arguments; None leaves one out."""
        merged = dict(self.args) | args
        return replace(self, args=tuple((name, value) for name, value in merged.items() if value is not None))

    def to_dict(self) -> dict[str, Any]:
        """The query as plain values that say all of it; :func:`query_from_dict` reads them back."""
        if self.entry.declared is not None:
            return self.entry.declared(self)
        plain: dict[str, Any] = {"kind": self.kind} | {name: _plain(value) for name, value in self.args}
        if self.over:
            plain["over"] = [[name, str(weight)] for name, weight in self.over]
        return plain | ({} if self.about is None else {"about": _plain(self.about)})


@dataclass(frozen=True)
class Kind:
    """One kind of question. ``make`` checks its arguments and is its public name; the rest follows from them.

    - ``write`` gives the text, and ``reads`` what begins it with how its argument looks and is read.
    - ``of_states(query, states)`` is the question about series over these states, or about variables with
      them; ``whole_steps`` if only about whole values of a series, which cannot be told apart by variable.
    - ``of_variables(query, variables)`` is the question about records, for kinds that name variables themselves.
    - ``of_numbers(query)`` is the question about real values.
    """

    make: Callable[..., Query]
    write: Callable[[Query], str]
    reads: Mapping[str, tuple[str, Callable[[str], Query]]]
    of_states: "Callable[[Query, tuple[str, ...]], Question] | None" = None
    of_variables: "Callable[[Query, Mapping[str, tuple[str, ...]]], Question] | None" = None
    of_numbers: "Callable[[Query], Question] | None" = None
    whole: bool = False
    ordered: bool = False
    divided: str | None = None
    """Of shares and means: the kind that they are before they are divided by the number of values."""
    declared: Callable[[Query], dict[str, Any]] | None = None
    """Of a function: what is written down of it, since the function cannot be."""

    def also(self, **more: Any) -> "Kind":
        """The same, about other values too."""
        return replace(self, **more)


KINDS: dict[str, Kind] = {}
"""Every kind of question by its name in records: ``question/table.py`` fills it."""


def kind_of(name: object) -> Kind:
    """What is known of a kind of question."""
    if not isinstance(name, str) or name not in KINDS:
        raise QueryError("a query's kind is not known", got=repr(name)[:40], fix=f"Known: {', '.join(KINDS)}")
    return KINDS[name]


def parse_query(text: str, values: Mapping[str, float | str] | None = None) -> Query:
    """The query that a text names: ``count:STATE``, ``histogram``, ``frequencies``, ``mean``, ``sum``, ``transitions``.

    ``share:A|B`` asks which share of the values is A or B, ``stays`` for the number of stays in each state,
    ``stays:STATE`` in one, ``stay-length:STATE`` how long they are on average, and ``stay-lengths:STATE:2,5,10`` how
    many of them have each class of lengths. ``median`` and ``quantile:0.9`` of states that are numbers, and ``top:3``,
    the most frequent states, follow from a histogram. ``difference:STATE:1-96|97-192`` asks how much the share of a
    state changes from a first period to a second (or dates: ``2024-03-01..2024-03-07``), and
    ``difference:STATE:subjects=ann,bob|*`` from one group of subjects to another. ``sum:off=0,on=1.5`` and ``mean:..``
    say which numbers states stand for; so does ``values``.

    Of a record, ``QUERY over A,B`` asks the variables A and B only, ``sum over A,B=2`` counts B twice, and
    ``tally:A=yes,B=low|high`` counts the variables that have one of these values, and ``records:A=yes&B=low|high`` the
    records in which all of them do.

    Of real values, ``trend`` asks how much they rise from step to step, ``above:2.5:0.5`` which share is above 2.5
    (with a ramp of width 0.5), ``difference:1-96|97-192`` how much the mean of a second period is above that of a
    first, and ``weighted:1,0.5`` for a sum with a weight for each position.

    A name that could be taken for something else is written as a JSON string: ``count:"a|b"``.

    >>> parse_query("count:walk")
    Query('count:walk')
    >>> parse_query("sum over visits,nights=2.5").over
    (('visits', Fraction(1, 1)), ('nights', Fraction(5, 2)))
    >>> parse_query("mean", {"off": "0", "on": "1.5"})
    Query('mean:off=0,on=1.5')
    """
    whole, *chosen = split_at(text, OVER)
    query = _parse(whole.strip() if chosen else whole, values)
    return query if not chosen else Over(query, _weights(OVER.join(chosen)))


def _parse(text: str, values: Mapping[str, float | str] | None) -> Query:
    if values is not None:
        if text not in ("mean", "sum"):
            raise QueryError("numbers for states are for mean and sum", got=f"query {text!r}", fix="Leave them out")
        return KINDS[text].make(values)
    word, colon, rest = text.partition(":")
    known = {name: (form, read) for kind in KINDS.values() for name, (form, read) in kind.reads.items()}
    if word in known and bool(rest) == bool(colon):
        form, read = known[word]
        if (rest and form) or (not rest and (not form or form.startswith("["))):
            return read(rest)
    near = nearest(word, list(known))
    meant = "" if near is None else f"Did you mean {_shown(near, known[near][0])}? "
    listed = ", ".join(_shown(name, form) for name, (form, _) in known.items())
    raise QueryError(
        "the query is not known", got=repr(text), fix=f"{meant}Known: {listed}; for records also QUERY over A,B"
    )


def _shown(word: str, form: str) -> str:
    return word if not form or form.startswith("[") else f"{word}:{form}"


def query_from_dict(contents: Mapping[str, Any]) -> Query:
    """The query that ``Query.to_dict`` wrote down.

    >>> query_from_dict({"kind": "sum", "values": [["off", "0"], ["on", "1.5"]]})
    Query('sum:off=0,on=1.5')
    """
    kind = kind_of(contents.get("kind"))
    given = {key: value for key, value in contents.items() if key not in ("kind", "over", "about")}
    try:
        query = kind.make(**given)
        if "over" in contents:
            query = Over(query, {str(name): str(weight) for name, weight in contents["over"]})
        about = contents.get("about")
        if about is not None and about != "numbers":
            about = tuple((str(name), tuple(map(str, states))) for name, states in about)
        return replace(query, about=about)
    except (TypeError, ValueError, AttributeError):
        raise QueryError(
            f"a query of kind {contents['kind']} cannot be read", got=f"keys {', '.join(sorted(given))}"[:80]
        ) from None


def Over(query: object, variables: Sequence[str] | Mapping[str, float | str]) -> Query:
    """A query about some variables of a record only; with weights, each of them counts that many times.

    >>> from quiltwork import Count, Over, Sum
    >>> Over(Count("yes"), ["fever", "cough"]), Over(Sum(), {"visits": 1, "nights": 2.5})
    (Query('count:yes over fever,cough'), Query('sum over visits,nights=2.5'))
    """
    if not isinstance(query, Query) or query.over or query.entry.of_variables is not None:
        raise QueryError(
            "over needs a query without names of its own",
            got=repr(query) if isinstance(query, Query) else type(query).__name__,
        )
    if query.entry.ordered:
        raise QueryError(
            "questions about the order of values need a series", got=query.text, why="variables have no order in time"
        )
    if query.entry.of_states is None:
        raise QueryError("over needs a query about states", got=query.text)
    if isinstance(variables, str) or not variables:
        raise QueryError("over needs a list of variables", got=repr(variables), fix='For example ["fever", "cough"]')
    if len(set(variables)) < len(variables):
        raise QueryError("over must name each variable once", got="one twice")
    try:
        named = variables if isinstance(variables, Mapping) else dict.fromkeys(variables, 1)
        weights = {str(name): Fraction(str(weight)) for name, weight in named.items()}
    except (ValueError, ZeroDivisionError):
        raise QueryError("weights must be finite numbers", got="text that is none") from None
    if not all(SMALLEST <= abs(weight) <= LARGEST for weight in weights.values()):
        raise QueryError(
            "weights must have a size between 1e-50 and 1e50",
            got="0, or one that is smaller or larger",
            why="a weight of 0 leaves the variable out, and others are lost in rounding",
            fix="Leave it out, or change the unit",
        )
    if query.entry.divided is not None and any(weight != 1 for weight in weights.values()):
        raise QueryError(
            f"{query.text} takes no weights",
            why="it is divided by the number of values",
            fix="Use weights with a sum or a count, and divide it yourself",
        )
    return replace(query, over=tuple(weights.items()))


def _weights(text: str) -> dict[str, float | str]:
    """Variables by name, with their weights; decimal text is taken at its word."""
    weights: dict[str, float | str] = {}
    for part in split_at(text, ","):
        name, *weight = split_at(part, "=")
        name = unquoted(name.strip())
        if name in weights:
            raise QueryError("over must name each variable once", got=f"{name!r} twice")
        weights[name] = "=".join(weight).strip() or "1"
    return weights


def _weighed(name: str, weight: Fraction) -> str:
    return quoted(name) if weight == 1 else f"{quoted(name)}={number_text(weight)}"


def number_text(number: Fraction) -> str:
    """An exact number as text: a decimal where it is one, else a fraction.

    >>> number_text(Fraction(5, 2)), number_text(Fraction(-1, 3)), number_text(Fraction(7))
    ('2.5', '-1/3', '7')
    """
    rest, places = number.denominator, 0
    while rest % 10 == 0:
        rest, places = rest // 10, places + 1
    twos = fives = 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return str(number)
    places += max(twos, fives)
    digits = str(abs(number.numerator) * 10**places // number.denominator).rjust(places + 1, "0")
    decimal = digits if not places else f"{digits[:-places]}.{digits[-places:]}"
    return f"-{decimal}" if number < 0 else decimal


def quoted(name: str) -> str:
    """A name as text: as a JSON string where it could be taken for something else.

    >>> quoted("walk"), quoted("a|b"), quoted(" a")
    ('walk', '"a|b"', '" a"')
    """
    plain = name and name == name.strip() and not any(sign in name for sign in SPECIAL) and OVER not in f" {name} "
    return name if plain else json.dumps(name, ensure_ascii=False)


def unquoted(text: str) -> str:
    """A name that :func:`quoted` wrote."""
    if len(text) < 2 or not (text[0] == text[-1] == '"'):
        return text
    try:
        name = json.loads(text)
    except ValueError:
        return text
    return name if isinstance(name, str) else text


def split_at(text: str, sign: str) -> list[str]:
    """The text in pieces, cut where the sign stands outside of JSON strings.

    >>> split_at('a|"b|c"', "|")
    ['a', '"b|c"']
    """
    pieces, begun = [], 0
    for at in _outside(text):
        if at >= begun and text.startswith(sign, at):
            pieces.append(text[begun:at])
            begun = at + len(sign)
    return [*pieces, text[begun:]]


def _outside(text: str) -> Iterator[int]:
    """The places that are in no JSON string; a quotation mark begins one only where a name begins."""
    at, begins = 0, True
    while at < len(text):
        if begins and text[at] == '"':
            try:
                _, at = json.JSONDecoder().raw_decode(text, at)
                begins = False
                continue
            except ValueError:
                pass
        yield at
        begins = text[at] in ":,|&= "
        at += 1


def _plain(value: Arg) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, Fraction) else value
