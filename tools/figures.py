"""Draw the picture of the README again, from the sample diary."""

from pathlib import Path

from quiltwork import Histogram, plan, read_series, release
from quiltwork.report import noise_chart, to_svg, values_chart
from quiltwork.samples import diary_belief, diary_path

IMAGES = Path(__file__).parents[1] / "docs" / "images"


def main() -> None:
    """Write docs/images/histogram.svg and docs/images/noise.svg."""
    belief = diary_belief()
    series = read_series(diary_path(), column="activity", states=belief.states, subject="person", time="time")
    result = release(series, Histogram(), belief=belief, epsilon=1.0)
    made = plan(Histogram(), belief=belief, epsilon=1.0, length=series.longest)
    IMAGES.mkdir(parents=True, exist_ok=True)
    (IMAGES / "histogram.svg").write_text(to_svg(values_chart(result)), encoding="utf-8")
    (IMAGES / "noise.svg").write_text(to_svg(noise_chart(made)), encoding="utf-8")


if __name__ == "__main__":
    main()
