"""Every command by name: where it is, what ``--help`` says of it, and its examples, without loading any of them."""

from typing import NamedTuple


class Listed(NamedTuple):
    """A command, ``module:function`` of this package, or a group of commands, which has no function of its own."""

    where: str
    says: str
    examples: tuple[str, ...] = ()

    @property
    def epilog(self) -> str | None:
        """The end of a command's help: lines that are not wrapped."""
        if not self.examples:
            return None
        lines = "\n".join(f"  {line}" for example in self.examples for line in example.splitlines())
        return f"\b\nExamples:\n{lines}"


QUILTWORK = Listed("", "Private releases from correlated data.", ("quiltwork demo", "quiltwork release --help"))
LISTED: dict[str, Listed] = {
    "plan": Listed(
        "plan:plan",
        "Show how precise answers would be.",
        (
            "quiltwork plan belief.json --query histogram --length 672 --epsilon 1",
            "quiltwork plan belief.json --query mean --state-values off=0,on=60 \\\n    --length 672 --epsilon 1",
        ),
    ),
    "release": Listed(
        "release:release",
        "Release a statistic with noise that protects every value.",
        (
            "quiltwork release diary.csv --column activity --subject person \\\n"
            "    --time time --belief belief.json --query histogram --epsilon 1",
            "quiltwork release power.csv.gz --column kW --time Date,Time \\\n"
            "    --date-format dd/mm/yyyy --belief power.json --query mean --epsilon 1 \\\n"
            "    --window day --ledger sqlite:///ledger.db",
        ),
    ),
    "new": Listed(
        "new:new",
        "Write a job file for a data file.",
        ("quiltwork new diary.csv --out job.toml",),
    ),
    "kept": Listed(
        "kept:kept",
        "Show results that were paid for and not taken.",
        ("quiltwork kept", "quiltwork kept 20261118-202628-1f0c9a3e > result.json"),
    ),
    "audit": Listed(
        "check:audit",
        "Compute the exact privacy loss of noise.",
        ("quiltwork audit belief.json --query count:sit --length 20 --noise-scale 4",),
    ),
    "compose": Listed(
        "check:compose",
        "Compute the total privacy loss of several releases.",
        ("quiltwork compose belief.json releases.json --length 672 --budget 2",),
    ),
    "leakage": Listed(
        "check:leakage",
        "Compute the privacy loss to adversaries who know other values.",
        ("quiltwork leakage belief.json --query count:sit --length 20 --noise-scale 4",),
    ),
    "reproduce": Listed(
        "check:reproduce",
        "Recompute results from the papers.",
        (
            "quiltwork reproduce all --quick --out results",
            "quiltwork reproduce activity --data diary.csv --column activity \\\n"
            "    --subject person --time time --belief belief.json --yes",
            "quiltwork reproduce real --data downloads --out results",
        ),
    ),
    "demo": Listed(
        "demo:demo",
        "Release a private histogram of the sample diary.",
        ("quiltwork demo", "quiltwork demo --files sample"),
    ),
    "serve": Listed(
        "serve:serve",
        "Serve a page and a JSON interface.",
        (
            "quiltwork serve --data-folder data --ledger sqlite:///ledger.db",
            "quiltwork serve --read-only --ledger sqlite:///ledger.db",
        ),
    ),
    "compile": Listed("compile:compile_all", "Compile the numerical code ahead of time.", ("quiltwork compile",)),
    "belief": Listed("", "Create and inspect belief files."),
    "ledger": Listed("", "Track a privacy budget."),
    "belief fit": Listed(
        "belief:belief_fit",
        "Estimate a belief from public data.",
        (
            "quiltwork belief fit public.csv --column activity --subject person \\\n"
            "    --time time --confidence 0.95 --out belief.json",
            "quiltwork belief fit public.csv --column kW --time time --gaussian \\\n"
            "    --distance 1 --unit kW --out power.json",
        ),
    ),
    "belief show": Listed(
        "belief:belief_show", "Show what a belief file says.", ("quiltwork belief show belief.json --out belief.html",)
    ),
    "belief new": Listed(
        "belief:belief_new",
        "Write a belief from words.",
        (
            "quiltwork belief new --state sleep=7h --state sit=40min --state walk=10min \\\n"
            "    --step 15min --out belief.json",
            "quiltwork belief new        (asks for the states, one after the other)",
        ),
    ),
    "belief compare": Listed(
        "compare:belief_compare",
        "Show what a release is worth if another belief is true.",
        ("quiltwork belief compare belief.json other.json --query histogram \\\n    --noise-scale 50",),
    ),
    "belief check": Listed(
        "belief_check:belief_check",
        "Check on public data whether a belief fits.",
        ("quiltwork belief check belief.json public.csv --column activity \\\n    --subject person --time time",),
    ),
    "belief every": Listed(
        "belief_check:belief_every",
        "Make a belief for every N-th value from one for every value.",
        ("quiltwork belief every belief.json 4 --out hourly.json",),
    ),
    "ledger create": Listed(
        "ledger:create",
        "Create a ledger with a privacy budget.",
        ("quiltwork ledger create sqlite:///ledger.db --belief belief.json --budget 2",),
    ),
    "ledger show": Listed(
        "ledger:show",
        "Show what was spent, who spent it, and what remains.",
        ("quiltwork ledger show sqlite:///ledger.db",),
    ),
    "ledger verify": Listed(
        "ledger:verify",
        "Check a ledger for changed, removed or added rows.",
        ("quiltwork ledger verify sqlite:///ledger.db",),
    ),
    "ledger export": Listed(
        "ledger:export",
        "Export a ledger as JSON lines.",
        ("quiltwork ledger export sqlite:///ledger.db --out ledger.jsonl",),
    ),
}
