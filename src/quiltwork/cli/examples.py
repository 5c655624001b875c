"""Examples that ``--help`` shows, one list for each command."""

EXAMPLES: dict[str, tuple[str, ...]] = {
    "": ("quiltwork demo", "quiltwork release --help"),
    "plan": (
        "quiltwork plan belief.json --query histogram --length 672 --epsilon 1",
        "quiltwork plan belief.json --query mean --state-values off=0,on=60 \\\n    --length 672 --epsilon 1",
    ),
    "release": (
        "quiltwork release diary.csv --column activity --subject person \\\n"
        "    --time time --belief belief.json --query histogram --epsilon 1",
        "quiltwork release power.csv.gz --column kW --time Date,Time \\\n"
        "    --date-format dd/mm/yyyy --belief power.json --query mean --epsilon 1 \\\n"
        "    --window day --ledger sqlite:///ledger.db",
    ),
    "audit": ("quiltwork audit belief.json --query count:sit --length 20 --noise-scale 4",),
    "compose": ("quiltwork compose belief.json releases.json --length 672 --budget 2",),
    "leakage": ("quiltwork leakage belief.json --query count:sit --length 20 --noise-scale 4",),
    "reproduce": (
        "quiltwork reproduce all --quick --out results",
        "quiltwork reproduce activity --data diary.csv --column activity \\\n"
        "    --subject person --time time --belief belief.json --yes",
        "quiltwork reproduce real --data downloads --out results",
    ),
    "demo": ("quiltwork demo", "quiltwork demo --files sample"),
    "serve": (
        "quiltwork serve --data-folder data --ledger sqlite:///ledger.db",
        "quiltwork serve --read-only --ledger sqlite:///ledger.db",
    ),
    "compile": ("quiltwork compile",),
    "belief fit": (
        "quiltwork belief fit public.csv --column activity --subject person \\\n"
        "    --time time --confidence 0.95 --out belief.json",
        "quiltwork belief fit public.csv --column kW --time time --gaussian \\\n"
        "    --distance 1 --unit kW --out power.json",
    ),
    "belief show": ("quiltwork belief show belief.json --out belief.html",),
    "belief new": (
        "quiltwork belief new --state sleep=7h --state sit=40min --state walk=10min \\\n"
        "    --step 15min --out belief.json",
        "quiltwork belief new        (asks for the states, one after the other)",
    ),
    "belief compare": ("quiltwork belief compare belief.json other.json --query histogram \\\n    --noise-scale 50",),
    "belief check": (
        "quiltwork belief check belief.json public.csv --column activity \\\n    --subject person --time time",
    ),
    "belief every": ("quiltwork belief every belief.json 4 --out hourly.json",),
    "ledger create": ("quiltwork ledger create sqlite:///ledger.db --belief belief.json --budget 2",),
    "ledger show": ("quiltwork ledger show sqlite:///ledger.db",),
    "ledger verify": ("quiltwork ledger verify sqlite:///ledger.db",),
    "ledger export": ("quiltwork ledger export sqlite:///ledger.db --out ledger.jsonl",),
}


def examples_of(command: str) -> str | None:
    """The end of a command's help: lines that are not wrapped."""
    if command not in EXAMPLES:
        return None
    lines = "\n".join(f"  {line}" for example in EXAMPLES[command] for line in example.splitlines())
    return f"\b\nExamples:\n{lines}"
