"""What a release relies on, in full sentences: whoever signs for it signs for these."""

from quiltwork.beliefs import GaussianBelief
from quiltwork.calibration.record import GAUSSIAN
from quiltwork.data.held import NO_STEP
from quiltwork.fitting import in_time
from quiltwork.releases.result import Release

TRUSTED = "was taken on trust."  # how a note about the step ends
GAPS = {
    None: "The series have no gaps: each value follows directly on the one before it.",
    "dependent": "The series have gaps, or times that are not evenly spaced. Values before and after a gap may depend "
    "on each other, and the noise covers that.",
    "independent": "The series have gaps. It was declared that nothing is remembered across a gap; if that is wrong, "
    "the protection is weaker than stated.",
    "late": "Some series begin later than others. The noise covers that it is not known which times their values have.",
}
STARTS = {
    "any": "Nothing is assumed about how a series begins: the noise covers every start.",
    "stationary": "The first value of each series has the long-run law of the belief: when recording began does not "
    "depend on the values.",
    "given": "The first value of each series has the law that the belief states for it.",
}


def assumptions(release: Release) -> list[str]:
    """The assumptions of a release, in full sentences."""
    belief, calibration = release.belief, release.calibration
    said = [*_people(release)]
    if belief.variables is None:
        said += [_step(release), *([] if belief.real else [STARTS[release.recorded.start or belief.start]])]
        said.append(GAPS[release.recorded.gaps])
    said += [_adversary(release), *_weaker(release)]
    if isinstance(belief, GaussianBelief) and calibration.guarantee != "none":
        said.append(GAUSSIAN)
    return [*said, _public(release), _others(release)]


def _people(release: Release) -> list[str]:
    """Who is independent of whom, and what ties values together."""
    belief, reading = release.belief, release.recorded.reading
    if belief.variables is not None:
        within = "Values within a record depend on each other only as the belief says."
        if release.subjects == 1:
            return [f"There is a single record. {within}"]
        return [
            f"The {release.subjects:,} records are independent of one another. If they influence each other, this "
            "report does not cover what one record tells about another.",
            within,
        ]
    within = "Values of one series depend on each other at most as strongly as the belief says."
    if isinstance(belief, GaussianBelief) and belief.between is not None:
        return [f"The {release.subjects:,} series are correlated with each other as the belief says.", within]
    if release.subjects == 1:
        alone = "All values are one series of one person or thing."
        if reading is not None and reading.column is not None and reading.subject is None:
            alone += " No column tells people apart."
        return [alone, within]
    return [
        f"The {release.subjects:,} series belong to different people (or things), who are independent of one another. "
        "If they influence each other, as people of one household may, this report does not cover what one series "
        "tells about another.",
        within,
    ]


def _step(release: Release) -> str:
    step, about = release.belief.step, release.about
    trusted = [note for note in release.notes if note.endswith(TRUSTED)]
    if trusted:
        return trusted[0]
    if step is None:
        return NO_STEP
    if step.steps and (about is None or about.step is None):
        return "Each value is one step of the belief after the one before it."
    passes = f"From one value to the next, {in_time(1, step)} passes in the belief"
    return f"{passes}, as in the data. This was checked."


def _adversary(release: Release) -> str:
    calibration = release.calibration
    if calibration.guarantee == "none":
        return (
            "THERE IS NO GUARANTEE: this noise hides a single value only if values are independent of each other, "
            "which the belief does not say."
        )
    if calibration.bayesian:
        return "An adversary may know the belief, how the noise is made, and any other values of the data."
    same = "series" if release.belief.variables is None else "record"
    return (
        "What an adversary knows beforehand is what the belief says, and how the noise is made. One who already knows "
        f"other values of the same {same} for certain may learn more than ε about a value."
    )


def _weaker(release: Release) -> list[str]:
    return [release.calibration.exception] if release.calibration.delta else []


def _public(release: Release) -> str:
    if release.belief.variables is not None:
        return "It is public how many records there are, and which variables they have."
    named = " The names of subjects are published." if any(part.subject for part in release.parts) else ""
    return (
        f"It is public how many series there are, how long they are, at which times, and where they have gaps.{named}"
    )


def _others(release: Release) -> str:
    if release.ledger is None:
        return (
            "Nothing else has been released from these data. Other releases, before or after, add to the privacy loss; "
            "no ledger counts them here."
        )
    return "All releases from these data are recorded in the ledger named below, and nothing is released past it."
