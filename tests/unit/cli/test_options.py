"""Options are made from the fields of a job: their names are frozen, and each says what its field says."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from quiltwork.cli import app
from quiltwork.cli.options import in_options
from quiltwork.job import fields_by_name, option_of

OPTIONS = {
    "new": """
        --json --out
    """,
    "kept": """
        --json --key
    """,
    "plan": """
        --also --by-subject --compare --delta --distance --epsilon --guarantee --json --length --mechanism --noise
        --out --people --query --quilt-size --releases --secret-times --secrets --state-values
        --target-error --values --window --workload
    """,
    "release": """
        --anyway --belief --bins --by-subject --check --column --date-format --decimal --delta
        --despite-check --duplicates --engine --epsilon --every --format --gap --gaps --guarantee --json
        --key --ledger --master --mechanism --missing --noise --out --query --quilt-size --recode
        --secret-times --secrets --segment --separator --spread --state-values --subject --take --time
        --together --unsorted --variable --who --window --workload
    """,
    "audit": """
        --delta --json --know --length --noise --noise-scale --out --query --releases --secret-times
        --secrets --segment --state-values --values
    """,
    "compose": """
        --budget --delta --guarantee --json --length --out --secret-times --secrets
    """,
    "leakage": """
        --delta --json --length --method --noise --noise-scale --query --releases --seconds --secret-times
        --secrets --state-values --values
    """,
    "reproduce": """
        --belief --bins --column --data --date-format --decimal --duplicates --engine --every --gap --json
        --master --missing --out --quick --recode --separator --subject --take --time --together --unsorted
        --yes
    """,
    "demo": """
        --files --json --out
    """,
    "serve": """
        --allow-host --data-folder --host --keep-folder --key --ledger --max-upload --port --public-folder --read-only
        --time-limit --token-file --trust-user-header --workers
    """,
    "compile": """

    """,
    "belief fit": """
        --bins --column --confidence --cycle --date-format --decimal --distance --duplicates --engine
        --every --gap --gaussian --intervals --json --margin --master --missing --order --out --phases
        --recode --rhythm --separator --smoothing --states --stays --subject --take --time --together --unit
        --unsorted
    """,
    "belief show": """
        --json --out
    """,
    "belief new": """
        --decay --distance --follows --json --out --state --step --unit
    """,
    "belief compare": """
        --exact --json --length --noise-scale --out --query --state-values --values
    """,
    "belief check": """
        --bins --column --date-format --decimal --duplicates --engine --every --gap --json --master
        --missing --out --recode --rhythm --save --separator --subject --take --time --together --unsorted
    """,
    "belief every": """
        --json --out
    """,
    "ledger create": """
        --belief --bins --budget --column --date-format --decimal --delta --duplicates --engine --envelope
        --every --gap --gaps --guarantee --json --key --master --missing --recode --secret-times --secrets
        --separator --subject --take --time --together --unsorted --variable
    """,
    "ledger show": """
        --json --key
    """,
    "ledger verify": """
        --accept --head --json --key --who
    """,
    "ledger export": """
        --json --out
    """,
}
OWN_HELP = {("audit", "--delta"), ("ledger create", "--delta"), ("ledger create", "--key"), ("compose", "--length")}


def commands(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, child in getattr(command, "commands", {}).items():
        yield from commands(child, f"{path} {name}".strip())
    if not hasattr(command, "commands"):
        yield path, command


COMMANDS = dict(commands(typer.main.get_command(app)))


def test_every_command_is_frozen() -> None:
    assert set(COMMANDS) == set(OPTIONS)


@pytest.mark.parametrize("path", OPTIONS)
def test_names_of_options_are_frozen(path: str) -> None:
    named = {name for one in COMMANDS[path].params for name in one.opts if name.startswith("--")}
    assert named - {"--help"} == set(OPTIONS[path].split())


@pytest.mark.parametrize("path", ["release", "plan", "belief check", "ledger create"])
def test_options_say_what_their_fields_say(path: str) -> None:
    fields = {option_of(name): one for name, one in fields_by_name().items()}
    made = [one for one in COMMANDS[path].params if one.opts[0] in fields and one.name in fields_by_name()]
    assert len(made) > 12
    for one in made:
        field = fields[one.opts[0]]
        if (path, one.opts[0]) not in OWN_HELP and one.name != "mechanism" and one.opts[0] != "--out":
            assert (one.help, one.metavar or None) == (field.metadata["help"], field.metadata["metavar"])
        assert one.required is False or one.name == "belief"


def test_messages_name_options() -> None:
    assert in_options("[data] missing must be refuse or split") == "missing must be refuse or split"
    assert in_options("a question is needed, by ask= or in a workload= file").startswith(
        "a question is needed, by --qu"
    )
