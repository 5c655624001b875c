"""What the command prints of plans, releases and ledgers."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from quiltwork.beliefs.checked import NOT_CHECKED
from quiltwork.beliefs.secrets import believed_after
from quiltwork.calibration.plan import Offer, Plan
from quiltwork.calibration.sharing import Way
from quiltwork.errors import visible
from quiltwork.releases.result import Release
from quiltwork.show.numbers import KEEP, budget_words, fitting, remarks, share_of_budget, table_of
from quiltwork.show.output import cell, err, out, table

if TYPE_CHECKING:
    from quiltwork.accounting.accountant import Composed
    from quiltwork.beliefs import MarkovChain, Secrets
    from quiltwork.ledger import Statement

MOST_ROWS, MOST_COLUMNS = 100, 12
SHADES, NAME_WIDTH = " ░▒▓█", 10
BAR, SHORTEST_BAR, NARROW = 24, 6, 60


def plan_rows(made: Plan, *, other: Mapping[str, float | None] | None = None) -> list[dict[str, Any]]:
    """The mechanisms of a plan; with the ε of each one's noise under another belief, if there is one."""
    rows: list[dict[str, Any]] = []
    several_questions = any(offer.questions for offer in made.offers)
    for offer in made.offers:
        if offer.calibration is None:
            blank = {"query": ""} if several_questions else {}
            blank |= {"noise scale": "-"} | ({"noise": ""} if made.delta else {}) | {"±95 %": "-", "× least": "-"}
            under = {} if other is None else {"ε if other": "-"}
            rows.append({"mechanism": offer.mechanism, **blank, **under, "why": offer.refused})
            continue
        guarantee = "" if offer.calibration.guarantee != "none" else "NO GUARANTEE. "
        if offer.questions:
            other_loss = None if other is None else cell(other.get(offer.mechanism))
            noise = offer.calibration.noise if made.delta else ""
            rows += _by_question(offer, guarantee, times=made.multiple(offer), under=other_loss, noise=noise)
            continue
        rows.append(
            {
                "mechanism": offer.mechanism,
                "noise scale": offer.noise_scale,
                **({"noise": offer.calibration.noise} if made.delta else {}),
                "±95 %": offer.error_95,
                "× least": "" if (times := made.multiple(offer)) is None else f"{times:,.3g}",
                **({} if other is None else {"ε if other": cell(other.get(offer.mechanism))}),
                "why": guarantee + offer.calibration.reason.sentence(),
            }
        )
    return rows


def plan_title(made: Plan) -> str:
    """What a plan is for."""
    span = "any length" if made.length is None else f"length {made.length:,}"
    if made.step is not None:
        span += f" in steps of {made.step}"
    if made.records:
        span = f"records of {made.length:,} variables"
    if not made.secrets.everything:
        span += f", secret: {made.secrets.text}"
    apart = next((o.calibration.apart for o in made.offers if o.calibration is not None and o.calibration.apart), None)
    if apart is not None:
        span += f", differences of up to {apart}"
    several = "" if made.releases == 1 else f" shared by {made.releases:,} releases (noise of each)"
    weaker = f", δ = {made.delta:g}" if made.delta else ""
    return f"{made.query}, ε = {made.epsilon:g}{weaker}{several}, {span}"


def print_plan(made: Plan, *, other: Mapping[str, float | None] | None = None) -> None:
    """Print a plan as a table; with the ε of each mechanism's noise under another belief, if there is one."""
    out.print(table(plan_rows(made, other=other), title=plan_title(made)))
    if made.best is not None:
        among = "" if made.complete else " among those shown"
        out.print(f"Least noise with a guarantee{among}: {made.best.mechanism}.")
        if made.best.calibration is not None and made.best.calibration.steps is not None:
            out.print(made.best.calibration.along_time())
    if made.ways:
        shared = "one release" if made.releases == 1 else f"each of {made.releases:,} releases"
        out.print(table(way_rows(made), title=f"By the influence curve, noise of {shared}"))
    elif made.releases > 1:
        out.print(_against_adding(made))
    if made.epsilon_each is not None and made.best is not None and made.best.calibration is not None:
        noise = " --noise gaussian" if made.best.calibration.noise == "gaussian" else ""
        budget = f"--budget {made.epsilon:g}" + (f" --delta {made.delta:g}" if noise else "")
        out.print(
            f"For these {made.releases:,} releases, create a ledger with {budget} and give each release --epsilon "
            f"{made.epsilon_each:g}{noise}."
        )
    if made.remedy is not None:
        out.print(made.remedy.words())
    for warning in made.warnings:
        err.print(f"warning: {warning}")


def _by_question(
    offer: Offer, guarantee: str, *, times: float | None, under: str | None, noise: str
) -> list[dict[str, Any]]:
    """A row for each question that shares ε with others."""
    rows = []
    for n, question in enumerate(offer.questions):
        why = guarantee + offer.calibration.reason.sentence() if n == 0 and offer.calibration is not None else ""
        follows = "" if question.follows is None else f"(from {question.follows})"
        rows.append(
            {
                "mechanism": offer.mechanism if n == 0 else "",
                "query": question.query,
                "noise scale": question.noise_scale,
                **({"noise": "" if n else noise} if noise else {}),
                "±95 %": question.error_95,
                "× least": "" if times is None or n else f"{times:,.3g}",
                **({} if under is None else {"ε if other": "" if n else under}),
                "why": why or follows,
            }
        )
    return rows


def _span(way: Way) -> str:
    """For how many releases a way needs the least noise."""
    first, last = way.least_from, way.least_up_to
    if first is None:
        return "never"
    if last is None:
        return "always" if first == 1 else f"from {first:,} releases on"
    return f"up to {last:,} release{'s' * (last > 1)}" if first == 1 else f"from {first:,} to {last:,} releases"


def way_rows(made: Plan) -> list[dict[str, Any]]:
    """The ways in which releases may share ε and δ."""
    return [
        {
            "way": way.name,
            "noise scale": way.noise_scale,
            "±95 %": way.error_95,
            "least noise": _span(way),
        }
        for way in made.ways
    ]


def _against_adding(plan: Plan) -> str:
    """What the influence curve saves over adding up quilt releases."""
    scales = {offer.mechanism: offer.noise_scale for offer in plan.offers if offer.noise_scale}
    best, quilts = scales.get("curve"), scales.get("quilt-exact")
    if best is None or quilts is None:
        return "With curve, profiles are added before the influence curve is computed; other mechanisms add their ε."
    return (
        f"{plan.releases:,} releases by curve share ε = {plan.epsilon:g}: their profiles are added before the curve is "
        f"computed, so each needs noise of scale {best:.6g}. Adding quilt releases of ε = "
        f"{plan.epsilon / plan.releases:.4g} each (Theorem 3.7) would need {quilts:.6g}, {quilts / best:.3g} times as "
        "much."
    )


def print_composed(
    composed: "Composed",
    *,
    budget: float | None,
    guarantee: str = "pufferfish",
    secrets: "Secrets | None" = None,
) -> None:
    """Print what releases tell together, rule by rule."""
    rows = [
        {"rule": f.rule, "ε together": "-" if f.epsilon is None else f"{f.epsilon:.6g}", "why": f.why or f.theorem}
        for f in composed.rules
    ]
    kind = "Pufferfish private" if guarantee == "pufferfish" else "Bayesian differentially private"
    about = "" if secrets is None or secrets.everything else f" about {secrets.text}"
    promised = f"({composed.epsilon:.6g}, {composed.delta:g})" if composed.delta else f"{composed.epsilon:.6g}"
    out.print(f"Together these releases are {promised}-{kind}{about}, by {composed.rule}.")
    if composed.delta:
        pure = "no ε holds without a δ" if composed.pure is None else f"without a δ, ε = {composed.pure:.6g}"
        out.print(f"This is for releases chosen before the first result was seen; {pure}.")
    if composed.losses is not None and composed.rule in ("influence-curve", "squares", "mixture"):
        first, last = composed.losses.worst
        when = f"time {first:,}" if first == last else f"times {first:,} to {last:,}"
        out.print(f"The privacy loss is largest at {when}: up to {composed.losses.epsilon:.6g}.")
    if budget is not None:
        left = budget - composed.epsilon
        out.print(
            f"Budget {budget:g}: {left:.6g} left." if left >= 0 else f"Budget {budget:g}: exceeded by {-left:.6g}."
        )
    out.print("\nResult of each rule:")
    out.print(table(rows))


def statement_rows(now: "Statement") -> list[dict[str, Any]]:
    """The releases in a ledger; with what checks of the belief found, if there were any."""
    checked = any(release["check"] not in (None, NOT_CHECKED) for release in now.releases())
    return [
        {
            "row": release["row"],
            "time": release["time"][:16].replace("T", " "),
            "query": release["query"]
            + ("" if release["segment"] is None else f" {release['segment'][0]}:{release['segment'][1]}"),
            "mechanism": release["mechanism"],
            **({"noise": release.get("noise", "laplace")} if now.terms.delta else {}),
            "ε": release["epsilon"],
            "together": release["spent"],
            "who": release["who"],
            **({"check": (release["check"] or NOT_CHECKED).removeprefix("checked, ")} if checked else {}),
            "outcome": release["outcome"] if release["outcome"] == "released" else "unknown (counts)",
        }
        for release in now.releases()
    ]


def statement_title(now: "Statement") -> str:
    """What a ledger is for."""
    about = "" if now.terms.secrets.everything else f", secret: {now.terms.secrets.text}"
    return f"{now.name}: {now.terms.belief!r}, {now.terms.guarantee}{about}"


def print_statement(now: "Statement") -> None:
    """Print what was spent of a budget: a bar, and a table of releases."""
    width, content = 40, now.to_dict()
    full = round(width * share_of_budget(content))
    out.print(statement_title(now))
    out.print(f"{'█' * full}{'░' * (width - full)} {budget_words(content)}")
    if now.room is not None:
        pure = "No ε holds without a δ." if now.pure is None else f"Without a δ it is ε = {now.pure:.6g}."
        out.print(f"{pure} {now.room}")
    rows = statement_rows(now)
    out.print(table(rows) if rows else "Nothing has been released yet.")
    if rows:
        read = "not recorded" if now.reading is None else str(now.reading)
        out.print(f"How the data was read: {read}.")
        if now.mixed is not None:
            out.print(f"Later read differently ({now.mixed}): every release counts as if it covered every moment.")
        out.print(f"Composition rule: {now.rule}.")
    for row in now.rows:
        if row.kind == "accepted":
            out.print(f"Row {row.number}: {row.content.get('who')} accepted that {'; '.join(row.content['problems'])}.")
    if not now.checked:
        out.print("The rows are sealed with a key that is not here: they cannot be checked.")
    out.print(f"Head: {now.rows[-1].number}:{now.head}")


def print_release(result: Release) -> None:
    """Print a release with bars, its accuracy and the reason for its noise."""
    out.print(f"{result.subjects:,} {result.belief.noun}, {result.values:,} values in total.")
    for question in result.questions or (result,):
        if result.questions:
            out.print(f"\n{question.calibration.query.text}:")
        _print_values(question)
    out.print(("\n" if result.questions else "") + result.explain())
    if result.ledger is not None:
        out.print(
            f"Recorded as row {result.ledger['row']} of {result.ledger['address']}: {budget_words(result.ledger)}. "
            f"Head: {result.ledger['row']}:{result.ledger['hash']}"
        )
        allowed, but_for = believed_after(result.ledger["budget"], result.ledger.get("delta", 0.0))
        about = "" if "secrets" not in result.ledger else f" (secrets {result.ledger['secrets']})"
        out.print(f"Within the whole budget, what was 50 % likely becomes at most {allowed} likely{but_for}{about}.")
        if "mixed" in result.ledger:
            out.print(
                f"The data was not always read in the same way ({result.ledger['mixed']}), so every release in this "
                "ledger counts as if it covered every moment."
            )


def _print_values(result: Release) -> None:
    """The numbers of one question: with bars, or in as many tables as the width needs."""
    rows = table_of(result)
    shown = rows[:MOST_ROWS]
    width = max(out.width, NARROW)
    if not result.parts and not result.answers[0].pure_noise:
        shown = _with_bars(shown, result.answers[0].best, width)
    for block in fitting(shown, width):
        out.print(table(block, right=set(block[0]) - {next(iter(block[0])), " "}))
    if len(rows) > MOST_ROWS:
        out.print(f"... and {len(rows) - MOST_ROWS:,} more; --json prints all.")
    for line in remarks(result, told=False, keep=KEEP):
        out.print(line)


def _with_bars(rows: list[dict[str, str]], numbers: Sequence[float], width: int) -> list[dict[str, str]]:
    """With a bar for each number, as long as the width allows."""
    used = sum(max(len(name), *(len(row[name]) for row in rows)) + 2 for name in rows[0])
    room, widest = min(BAR, width - used), max(abs(n) for n in numbers) or 1
    if room < SHORTEST_BAR:
        return rows
    return [row | {" ": "█" * round(room * max(n, 0) / widest)} for row, n in zip(rows, numbers, strict=False)]


def print_heat(chain: "MarkovChain", *, title: str) -> None:
    """Print how likely each state follows each: shades that survive a pipe, with colours on a terminal."""
    from rich.text import Text

    shown = chain.states[:MOST_COLUMNS]
    names = [name[:NAME_WIDTH] for name in shown]
    width, side = max(5, *map(len, names)) + 1, max(map(len, names))
    lines = [Text(" " * side + "".join(f"{visible(name):>{width}}" for name in names))]
    for name, row in zip(names, chain.transition[: len(shown), : len(shown)].tolist(), strict=True):
        line = Text(f"{visible(name):>{side}}")
        for p in row:
            shade = SHADES[min(len(SHADES) - 1, math.ceil(p * (len(SHADES) - 1)))]
            text = "·" if p == 0 else f"{shade}{p:.2f}"
            light = p > 0.5
            blue = f"rgb({round(255 - 208 * p)},{round(255 - 144 * p)},{round(255 - 76 * p)})"
            line.append(f"{text:>{width}}", style=f"{'white' if light else 'black'} on {blue}")
        lines.append(line)
    out.print(f"\n{title}:")
    for line in lines:
        out.print(line)
    if len(chain.states) > len(shown):
        out.print(f"... and {len(chain.states) - len(shown):,} more states; --out draws all.")
