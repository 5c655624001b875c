"""The releases that a job asks for, before anything is read or counted, and what each of them would be worth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quiltwork.beliefs import Belief, Secrets
from quiltwork.beliefs.checked import Checked
from quiltwork.calibration.plan import plan
from quiltwork.calibration.request import Request
from quiltwork.calibration.target import PURE_NOISE
from quiltwork.calibration.typical import Verdict, expected_answer, verdict_of
from quiltwork.calibration.wanted import asked, in_each
from quiltwork.data import Series
from quiltwork.data.records import Records
from quiltwork.errors import ParameterError
from quiltwork.influence.delta import USUAL_DELTA
from quiltwork.job import Job
from quiltwork.ledger import Ledger
from quiltwork.releases.pipeline import prepare
from quiltwork.releases.prepared import Answer, Prepared


def requests_of(
    job: Job, belief: Belief, *, ledger: Ledger | None = None, checked: Checked | None = None, alone: bool | None = None
) -> list[Request]:
    """What each question of a job asks of calibration, under the terms of the ledger if there is one.

    >>> from quiltwork.samples import diary_belief
    >>> from quiltwork.job import Ask
    >>> job = Job(questions=(Ask(ask="histogram", epsilon=1), Ask(ask="stays", epsilon=2)))
    >>> [(request.query.text, request.epsilon) for request in requests_of(job, diary_belief())]
    [('histogram', 1.0), ('stays', 2.0)]
    """
    said = job.privacy
    secrets = secrets_of(job)
    noise, delta = said.noise, said.delta
    if ledger is not None:
        secrets = ledger.terms.secrets if secrets is None else secrets
        noise, delta = ledger.noise_and_delta(noise, delta)
    elif not delta and noise == "gaussian":
        delta = USUAL_DELTA
    made = []
    for one in job.questions:
        if one.epsilon is None:
            raise ParameterError(
                "a release needs an epsilon",
                got="none",
                why="it says how much privacy loss is allowed",
                fix="Set epsilon=, for each question of a job",
            )
        request = Request(
            query=asked(one, belief),
            belief=belief,
            epsilon=one.epsilon,
            mechanism=said.mechanism,
            delta=delta,
            noise=noise or ("best" if delta else "laplace"),
            guarantee=said.guarantee,
            secrets=Secrets.all() if secrets is None else secrets,
            quilt_size=said.quilt_size,
            gaps=job.data.gaps,
            window=one.window,
            by_subject=one.by_subject,
            spread=job.data.spread,
            anyway=said.anyway,
            checked=checked,
            despite_check=said.despite_check,
            alone=ledger is None if alone is None else alone,
        )
        made.append(request)
    return made


def secrets_of(job: Job) -> Secrets | None:
    """What is secret, and when; None if a job says neither."""
    text, times = job.privacy.secrets, job.privacy.secret_times
    return None if text is None and times is None else Secrets.of(text).at(times)


@dataclass(frozen=True)
class QuestionPlan:
    """What one question of a job would be worth: its noise, and how much of the answer that is."""

    ask: str
    epsilon: float
    mechanism: str
    noise_scale: float
    error_95: float
    """How far off the least precise answer may be with probability 95 %."""
    relative_error: float | None
    """The same as a share of what is typical of the answer under the belief; None where that is not known."""
    verdict: Verdict
    answers: int
    """How many there are: one for each window and subject."""
    mechanisms: tuple[Mapping[str, Any], ...] = ()
    """The noise of every mechanism, as ``plan --json`` prints it, if they were compared."""

    def to_dict(self) -> dict[str, Any]:
        """As ``plan JOB --json`` prints it."""
        return {
            "ask": self.ask,
            "epsilon": self.epsilon,
            "mechanism": self.mechanism,
            "noise_scale": self.noise_scale,
            "error_95": self.error_95,
            "relative_error": self.relative_error,
            "verdict": self.verdict,
            "answers": self.answers,
            "mechanisms": [dict(offer) for offer in self.mechanisms],
        }


def plan_questions(
    job: Job,
    belief: Belief,
    *,
    ledger: Ledger | None = None,
    compare: bool = False,
    mechanisms: Sequence[str] | None = None,
) -> tuple[QuestionPlan, ...]:
    """What each question of a job would be worth. Of its data only the shape is read; nothing is spent.

    Without data, the job says how long series are and of how many people. With ``compare`` the noise of every
    mechanism is computed too. Under a ledger its terms count; what was spent before may ask for a little more noise.

    >>> from quiltwork.samples import diary_belief
    >>> job = Job.of(ask=["histogram", "share:sleep"], epsilon=1, length=672, people=100)
    >>> [(one.ask, one.verdict) for one in plan_questions(job, diary_belief())]
    [('histogram', 'good'), ('share:sleep', 'good')]
    """
    alone = job.privacy.ledger is None and len(job.questions) == 1
    requests = requests_of(job, belief, ledger=ledger, alone=alone)
    rows: dict[tuple[int, int] | None, Series | Records] = {}
    made: list[QuestionPlan] = []
    for one, request in zip(job.questions, requests, strict=True):
        if one.segment not in rows:
            rows[one.segment] = _shape(job, belief, one.segment)
        shape = rows[one.segment]
        if job.data.path is None and request.window is not None and isinstance(shape, Series):
            request = replace(request, window=in_each(request.window, shape.longest, belief.step))
        ready = prepare(shape, replace(request, anyway=True))
        answers = ready.answers()
        offers = _offers(request, ready, answers, mechanisms) if compare else None
        made += _worth(ready, answers, offers)
    return tuple(made)


def _shape(job: Job, belief: Belief, segment: tuple[int, int] | None) -> Series | Records:
    """Rows with the shape of the data, or of as many as the job says."""
    if job.data.path is not None:
        from quiltwork.data.read import shape_of

        return shape_of(job.data, belief, segment=segment)
    people, length = job.data.people or 1, job.data.length
    if belief.variables is not None:
        return Records(belief.variables, np.zeros((people, len(belief.variables)), dtype=np.int64))
    if not isinstance(length, int):
        raise ParameterError(
            "a plan needs the data, or how many there are",
            got="neither" if length is None else "any length",
            why="how much of an answer its noise is depends on that",
            fix="Set length= and people=, or path=",
        )
    if belief.real:
        from quiltwork.data.read import zeros

        return zeros(length, people)
    return Series.from_codes([np.zeros(length, dtype=np.int64)] * people, states=belief.states, segment=segment)


def _worth(ready: Prepared, answers: list[Answer], offers: list[list[dict[str, Any]]] | None) -> list[QuestionPlan]:
    """Each question of one release: they share its ε."""
    expected, shares = ready.expected(answers), ready.shares(answers)
    found: list[QuestionPlan] = []
    for place, (facts, share) in enumerate(zip(expected, shares, strict=True)):
        error = facts["error_95"]
        least = min(answer.values for answer in answers if answer.question == place)
        numbers = expected_answer(ready.asked.questions[place], ready.request.belief, least)
        typical = None if numbers is None else float(numbers.mean()) or None
        relative = error / typical if typical else None
        possible = share if ready.request.belief.real else None  # counts stay far below what is possible
        verdict = verdict_of(error, numbers, pure_noise=share >= PURE_NOISE, share=possible)
        found.append(
            QuestionPlan(
                ask=facts["query"],
                epsilon=ready.calibration.epsilon,
                mechanism=ready.calibration.mechanism,
                noise_scale=facts["noise_scale"],
                error_95=error,
                relative_error=relative,
                verdict=verdict or "rough",
                answers=facts["answers"],
                mechanisms=() if offers is None else tuple(offers[place]),
            )
        )
    return found


def _offers(
    request: Request, ready: Prepared, answers: list[Answer], mechanisms: Sequence[str] | None
) -> list[list[dict[str, Any]]]:
    """For each question the noise of every mechanism, for answers of the usual size."""
    length = None if request.belief.variables is not None else ready.record.length or ready.request.length
    made = plan(
        request.query,
        belief=request.belief,
        epsilon=request.epsilon,
        length=length,
        values=max(1, sum(answer.values for answer in answers) // max(1, len(answers))),
        delta=request.delta,
        noise=request.noise,
        mechanisms=mechanisms,
        window=request.window,
        guarantee=request.guarantee,
        secrets=request.secrets,
        quilt_size=request.quilt_size,
        advice=False,
    )
    offers = [offer.to_dict() for offer in made.offers]
    if not request.asked.several:
        return [offers]
    each: list[list[dict[str, Any]]] = []
    for place in range(len(request.asked.questions)):
        own = [offer | dict(offer.get("questions", [{}] * (place + 1))[place]) for offer in offers]
        each.append([{name: value for name, value in offer.items() if name != "questions"} for offer in own])
    return each
