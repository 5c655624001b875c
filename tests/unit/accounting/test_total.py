"""The total of all releases so far."""

from examples import LAZY

from quiltwork import Accountant, ReleaseRecord
from quiltwork.accounting.total import Total


def test_many_records_are_kept_as_sums_only() -> None:
    accountant = Accountant(LAZY, length=50)
    for n in range(12):
        accountant.add(ReleaseRecord(query="count:1", noise_scale=100.0, segment=(1 + n, 20 + n)))
        total = Total.from_bytes(accountant.total.to_bytes())
        assert total.to_bytes() == accountant.total.to_bytes()
        assert (total.records is None) == (n >= 8)
    rules = {finding.rule: finding.why for finding in accountant.composed().rules}
    assert "more than 8 releases" in str(rules["separate-segments"])
