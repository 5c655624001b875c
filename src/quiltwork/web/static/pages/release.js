// A release in three steps: ask, look at what it costs, confirm. Nothing is spent before the confirmation.

import { ask, get } from "../api.js";
import {
  BeliefChooser, Cards, Chart, Field, FileDrop, Progress, Refusal, Select, Slider, Warnings,
  EPSILONS, html, mount, save, useBelief, useEffect, useLayoutEffect, useMemo, useRef, useState, useWork,
} from "../ui.js";
import { BudgetBar, Facts, Said, ShownTable, cardsOf } from "../shown.js";
import { Files, ofRecords, suggested } from "../data.js";
import { Question, firstQuestion, questionOf, suited, textOf } from "../questions.js";

const MOST_QUESTIONS = 20;
const NOTHING = { value: "", label: "none" };
const WINDOWS = [
  { value: "", label: "All values together" },
  { value: "hour", label: "Each hour" },
  { value: "day", label: "Each day" },
  { value: "week", label: "Each week" },
  { value: "month", label: "Each month" },
  { value: "hour-of-day", label: "By hour of the day" },
  { value: "weekday", label: "By day of the week" },
  { value: "values", label: "A number of values" },
];
const KINDS = { html: "Report to sign", csv: "CSV", parquet: "Parquet", json: "JSON", md: "Markdown" };
const FIRST = {
  column: "", subject: "", time: "", missing: "refuse", gap: "", every: "", take: "first", bins: "", unsorted: "refuse",
  duplicates: "refuse", together: "", separator: "", decimal: "", date_format: "", recode: "", variable: "",
};
const FIRST_MORE = { first: "", last: "", anyway: false, despite_check: false, gaps: "dependent", mechanism: "", secrets: "", secret_times: "", guarantee: "pufferfish" };

/** `value = state` on each line, as an object. */
function recoded(text) {
  const pairs = text.split("\n").filter((line) => line.trim()).map((line) => {
    const at = line.indexOf("=");
    return at < 0 ? [line.trim(), null] : [line.slice(0, at).trim(), line.slice(at + 1).trim() || null];
  });
  return pairs.length ? Object.fromEntries(pairs) : undefined;
}

const given = (content) => Object.fromEntries(Object.entries(content).filter(([, value]) => value !== "" && value !== undefined && value !== null));

/** How the data are read, and what is promised, as filled in: what a ledger says is left out. */
function settings({ status, declared, belief, read, more: { mechanism, gaps, anyway, despite_check, ...promised } }) {
  const { column, variable, recode, ...how } = read;
  const reading = declared ? {} : { ...given({ column, variable, gaps }), read: given({ ...how, recode: recoded(recode) }) };
  return { ...reading, anyway, despite_check, ...given({ mechanism }), ...(status.ledger ? {} : given({ ...promised, belief: belief.belief })) };
}

/** The request for a preview, from what was filled in. */
function requested({ data, described, questions, epsilon, window: chosen, values, bySubject, more, ...filled }) {
  const texts = questions.map((question) => textOf(question, described)).filter(Boolean);
  const { first, last, ...other } = more;
  return {
    data: data.upload ? { upload: data.upload } : { path: data.path },
    ...settings({ ...filled, more: other }),
    query: texts.length === 1 ? texts[0] : texts,
    epsilon,
    by_subject: bySubject,
    ...given({ window: chosen === "values" ? Number(values) : chosen }),
    ...given({ segment: first && last ? [Number(first), Number(last)] : undefined }),
  };
}

/** What is wrong with the part of each series that is asked about, or nothing: half of it would be the whole series. */
function halved({ first, last }) {
  const written = [first, last].filter((text) => text.trim() !== "");
  if (written.length === 0 || (written.length === 2 && written.every((text) => /^\s*[1-9]\d*\s*$/.test(text)))) return null;
  return { content: { kind: "query", error: "a part of each series needs two whole numbers from 1: \"Only values from number\" and \"up to number\" (Less common settings). Fill in both, or none." } };
}

/* ---- 1: data ---- */

function Declared({ declared, bySubject, onBySubject }) {
  return html`<div><p class="note">Read as the ledger says: ${declared.text}. It cannot be changed here.</p>
    ${declared.subject && html`<${BySubject} checked=${bySubject} onChange=${onBySubject} />`}</div>`;
}

function BySubject({ checked, onChange }) {
  return html`<label class="check"><input type="checkbox" checked=${checked}
    onChange=${(event) => onChange(event.target.checked)} /> One answer for each person or series</label>`;
}

function Columns({ columns, records, read, set, bySubject, onBySubject }) {
  const names = columns.map((column) => ({ value: column.name, label: `${column.name} (${column.type.toLowerCase()})` }));
  const choose = (key, label, help) => html`<${Select} label=${label} help=${help} value=${read[key]}
    onChange=${(value) => set({ ...read, [key]: value })} options=${[NOTHING, ...names]} />`;
  return html`<div>
    <p class="note">Columns are listed by name and type. Their values are not shown.</p>
    <div class="pair small">
      ${choose("column", "Values", records ? "none: a column for each variable." : "The column that is asked about.")}
      ${choose("subject", "Person or series", "Rows of one person are one series.")}
      ${choose("time", "Time", "Without it, rows count in their order.")}
    </div>
    ${read.subject && html`<${BySubject} checked=${bySubject} onChange=${onBySubject} />`}
  </div>`;
}

function Reading({ columns, read, set }) {
  const text = (key, label, help) => html`<${Field} label=${label} help=${help}>${(id) => html`
    <input id=${id} value=${read[key]} onInput=${(event) => set({ ...read, [key]: event.target.value })} />`}<//>`;
  const choice = (key, label, options) => html`<${Select} label=${label} value=${read[key]}
    onChange=${(value) => set({ ...read, [key]: value })} options=${options.map(([value, said]) => ({ value, label: said }))} />`;
  const named = [["", "none"], ...columns.map((column) => [column.name, column.name])];
  return html`<details><summary>How to read it</summary><div class="pair small">
    ${choice("missing", "Missing values", [["refuse", "Refuse them"], ["split", "Split the series there"]])}
    ${text("gap", "Longest pause", "Split the series at longer ones: 15min.")}
    ${text("every", "One row per step", "Keep one row for each: 5min.")}
    ${choice("take", "Which row of a step", [["first", "The first"], ["last", "The last"], ["mean", "The mean"]])}
    ${text("bins", "Levels of numbers", "100,500 or LOW:HIGH:LEVELS.")}
    ${choice("unsorted", "Rows out of order", [["refuse", "Refuse them"], ["sort", "Sort them by time"]])}
    ${choice("duplicates", "Rows that come twice", [["refuse", "Refuse them"], ["drop", "Keep the first"]])}
    ${choice("together", "People who influence each other", named)}
    ${choice("variable", "Names of variables", named)}
    ${text("date_format", "How dates are written", "dd/mm/yyyy.")}
    ${text("separator", "Separator", "Between the fields of a text file.")}
    ${choice("decimal", "Decimal mark", [["", "As found"], [".", "Point"], [",", "Comma"]])}
    </div>
    <${Field} label="States for values of the data" help="One on each line: value = state.">${(id) => html`
      <textarea id=${id} rows="3" value=${read.recode} onInput=${(event) => set({ ...read, recode: event.target.value })}></textarea>`}<//>
  </details>`;
}

/* ---- 2: belief and questions ---- */

function LedgerBelief({ described }) {
  if (!described) return null;
  return html`<div><p>The ledger of this service is for one belief, so releases use it.</p>
    <${Facts} items=${described.facts} /></div>`;
}

function Questions({ questions, described, set }) {
  const change = (n, question) => set(questions.map((one, place) => (place === n ? question : one)));
  return html`<div>
    ${questions.map((question, n) => html`<div class="asked" key=${n}>
      <${Question} label=${questions.length > 1 ? `Question ${n + 1}` : "Question"} question=${question} described=${described}
        onChange=${(next) => change(n, next)} />
      ${questions.length > 1 && html`<button type="button" class="plain" aria-label=${`Remove question ${n + 1}`}
        onClick=${() => set(questions.filter((_, place) => place !== n))}>Remove</button>`}
    </div>`)}
    <div class="row"><button type="button" disabled=${questions.length >= MOST_QUESTIONS}
      onClick=${() => set([...questions, firstQuestion(described)])}>Ask one more</button>
      ${questions.length > 1 && html`<span class="note">All questions share ε, so each may need more noise than it would alone.</span>`}</div>
  </div>`;
}

function More({ more, set, status, declared }) {
  const text = (key, label, help) => html`<${Field} label=${label} help=${help}>${(id) => html`
    <input id=${id} value=${more[key]} onInput=${(event) => set({ ...more, [key]: event.target.value })} />`}<//>`;
  const choice = (key, label, options) => html`<${Select} label=${label} value=${more[key]}
    onChange=${(value) => set({ ...more, [key]: value })} options=${options.map(([value, said]) => ({ value, label: said }))} />`;
  return html`<details><summary>Less common settings</summary><div class="pair small">
    ${!status.ledger && text("secrets", "What is secret", "Every value if empty; or state:S, pairs:A|B.")}
    ${!status.ledger && text("secret_times", "When it is secret", "Always if empty.")}
    ${text("first", "Only values from number", "With the next field: a part of each series.")}
    ${text("last", "up to number", "")}
    ${!declared && choice("gaps", "Across gaps, values", [["dependent", "depend on each other"], ["independent", "are independent"]])}
    ${text("mechanism", "Mechanism", "The best one if empty; or curve, quilt-exact, group.")}
    <label class="check"><input type="checkbox" checked=${more.anyway}
      onChange=${(event) => set({ ...more, anyway: event.target.checked })} /> Release answers that are noise only</label>
    <label class="check"><input type="checkbox" checked=${more.despite_check}
      onChange=${(event) => set({ ...more, despite_check: event.target.checked })} /> Release even if the belief was refuted</label>
    ${!status.ledger && choice("guarantee", "Guarantee", [["pufferfish", "Pufferfish"], ["bayesian", "Bayesian"]])}
  </div></details>`;
}

/** What was filled in, as a file for version control and for the command; and the other way. */
function JobFile({ request, onLoad }) {
  const [work, run] = useWork();
  const write = () => run(async () => {
    save("job.toml", (await ask("/api/job/text", request())).text, "application/toml");
    return { left_out: [], questions: 1 };
  });
  const load = (file) => run(async () => {
    const found = await ask("/api/job/fields", { text: await file.text() });
    onLoad(found.form);
    return found;
  });
  const done = work.result;
  return html`<details><summary>Job file</summary>
    <p class="note">A text file of all this, for <code>quiltwork release</code> and for version control.</p>
    <div class="row"><button type="button" disabled=${work.busy} onClick=${write}>Save as job file</button></div>
    <${FileDrop} label="Load a job file (.toml)" accept=".toml" onFile=${load} busy=${work.busy} />
    ${done && done.left_out.length > 0 && html`<p class="note">Not taken from the file: ${done.left_out.join(", ")}.</p>`}
    ${done && done.questions > 1 && html`<p class="note">The file asks ${done.questions} questions, each a release. This is the first.</p>`}
    <${Refusal} problem=${work.problem} />
  </details>`;
}

/* ---- 3: what it costs ---- */

function Preview({ preview, confirming, onConfirm, onBack }) {
  const shown = preview.shown;
  const heading = useRef(null);
  useLayoutEffect(() => { if (heading.current) heading.current.focus(); }, [preview.confirm]);
  return html`<section class="panel confirm" aria-labelledby="cost">
    <h2 id="cost" tabindex="-1" ref=${heading}>Confirm the release</h2>
    <p class="lead">${shown.lead}</p>
    <${Cards} items=${cardsOf(shown)} />
    ${shown.budget
      ? html`<${BudgetBar} budget=${shown.budget.bar} said=${false} />
        <${Facts} items=${shown.budget.facts} />`
      : html`<p class="warning"><b>No budget is kept.</b> ${preview.notes[preview.notes.length - 1]}</p>`}
    <${ShownTable} caption="Questions and their noise" table=${shown.questions} />
    <${Said} texts=${shown.meaning} />
    <${Warnings} texts=${preview.warnings} />
    ${preview.notes.slice(0, shown.budget ? undefined : -1).map((note) => html`<p class="note">${note}</p>`)}
    <div class="row">
      <button type="button" class="main" disabled=${confirming} onClick=${onConfirm}>${shown.action}</button>
      <button type="button" disabled=${confirming} onClick=${onBack}>Change something</button>
    </div>
    <p class="note">${confirming
      ? "The release is being made. Stay on this page until its result is here."
      : "Nothing has been spent yet. The preview holds for ten minutes, and confirming makes exactly this release."}</p>
  </section>`;
}

/* ---- 4: the result ---- */

function Answer({ answer }) {
  const table = html`<${ShownTable} caption=${answer.title || "Released numbers"} table=${answer.table} />`;
  return html`<section>
    ${answer.title && html`<h3>${answer.title}</h3>`}
    ${answer.layout === "below"
      ? html`<div><${Chart} spec=${answer.chart.spec} caption=${answer.chart.caption} />${table}</div>`
      : html`<div class="beside"><${Chart} spec=${answer.chart.spec} caption=${answer.chart.caption} />${table}</div>`}
    <${Said} texts=${answer.said} /><${Said} texts=${answer.remarks} kind="note" />
  </section>`;
}

/** A finished release: what the page shows of it, and its files. If there is no picture of it, its value is still there. */
async function kept({ job, result, files }) {
  const shown = await get(`/api/jobs/${encodeURIComponent(job)}/shown`).catch(() => null);
  return { job, result, shown, files: Object.keys(KINDS).filter((kind) => (files || []).includes(kind)) };
}

function Downloads({ job, files }) {
  return html`<div class="row" role="group" aria-label="Downloads">
    ${files.map((kind) => html`<a class=${kind === "html" ? "button main" : "button"} href=${`/api/jobs/${encodeURIComponent(job)}/files/${kind}`}
      download=${`release.${kind}`}>${KINDS[kind]}</a>`)}
  </div>`;
}

/** Releases of the last hour, so that no result is lost with a page that was closed or a connection that broke. */
function Earlier({ onShow }) {
  const [jobs, list] = useState([]);
  useEffect(() => {
    get("/api/jobs").then((answer) => list(answer.jobs.filter((job) => job.kind === "confirm" && job.state === "done")), () => {});
  }, []);
  if (jobs.length === 0) return null;
  return html`<section class="panel"><h2>Made in the last hour</h2>
    <ul class="plain">${[...jobs].reverse().map((job) => html`<li><button type="button" class="plain"
      onClick=${() => onShow(job)}>${job.result.query}, ε = ${job.result.epsilon}</button></li>`)}</ul></section>`;
}

function Result({ done, onAgain }) {
  const { shown, job, files } = done;
  const heading = useRef(null);
  useEffect(() => { if (heading.current) heading.current.focus(); }, []);
  if (!shown) {
    return html`<div class="result"><p class="over">Released</p><h2 tabindex="-1" ref=${heading}>${done.result.query}, private</h2>
      <${Downloads} job=${job} files=${files} /><pre tabindex="0">${JSON.stringify(done.result.value, null, 1)}</pre>
      <div class="row"><button type="button" onClick=${onAgain}>Ask something else</button></div></div>`;
  }
  const said = (level) => shown.verdicts.filter((verdict) => verdict.level === level).map(({ text }) => text);
  return html`<div class="result">
    <p class="over">Released</p>
    <h2 tabindex="-1" ref=${heading}>${shown.title}</h2>
    <p class="lead">${shown.lead}</p>
    <${Cards} items=${cardsOf(shown)} />
    <${Downloads} job=${job} files=${files} />
    <p class="note">Keep them now: the service forgets them after an hour, and a second release costs again.</p>
    <${Warnings} texts=${said("warning")} />
    ${shown.answers.map((answer) => html`<${Answer} answer=${answer} />`)}
    <section><h3>What it means</h3><${Said} texts=${shown.meaning} /><${Said} texts=${said("note")} kind="note" />
      <details><summary>Why this much noise</summary><${Said} texts=${shown.explained} /></details></section>
    ${shown.recorded && html`<section><h3>Budget</h3><${BudgetBar} budget=${shown.recorded.bar} />
      <${Said} texts=${shown.recorded.said} /><${Facts} items=${shown.recorded.facts} /><p><a href="/budget">Look at the budget</a></p></section>`}
    <div class="row"><button type="button" onClick=${onAgain}>Ask something else</button></div>
  </div>`;
}

/* ---- the page ---- */

function Release({ status }) {
  const [data, take] = useState(null);
  const [read, setRead] = useState(FIRST);
  const [belief, believe] = useState(null);
  const [asked, setQuestions] = useState([firstQuestion(null)]);
  const [epsilon, setEpsilon] = useState(0.5);
  const [chosen, setWindow] = useState("");
  const [values, setValues] = useState(96);
  const [bySubject, setBySubject] = useState(false);
  const [more, setMore] = useState(FIRST_MORE);
  const loaded = useRef(false);
  const [columns, look] = useWork(data);
  const [held, ofLedger] = useWork();
  const own = useBelief(status.ledger ? null : belief);
  const [made, make, setMade] = useWork();
  const described = status.ledger ? held.result : own.result;
  const questions = useMemo(() => asked.map((one) => (described ? suited(one, described) : one)), [asked, described]);

  useEffect(() => {
    if (status.ledger) ofLedger(({ onJob }) => ask("/api/ledger/belief", undefined, { onJob }));
  }, []);
  const declared = status.ledger && held.result ? held.result.read : null;
  useEffect(() => {
    if (!data || !data.upload || declared) return;
    const file = { upload: data.upload };
    look(({ onJob }) => ask("/api/columns", { data: file, ...given({ separator: read.separator }) }, { onJob }));
  }, [data, read.separator, declared]);
  useEffect(() => {
    if (!columns.result) return;
    const there = (name) => (columns.result.columns.some((column) => column.name === name) ? name : "");
    setRead((before) => ({ ...before, together: there(before.together), variable: there(before.variable),
      ...(loaded.current ? {} : suggested(columns.result.columns, described)) }));
  }, [columns.result, described && described.kind]);
  // what was previewed is what is released: whoever changes anything has to look at the cost again
  const [preview, show, setPreview] = useWork(JSON.stringify([data, read, belief, questions, epsilon, chosen, values, bySubject, more]));

  const believed = status.ledger ? held.result : belief && own.result && !own.busy && !own.problem;
  const ready = data && (declared || (columns.result && !columns.problem)) && believed && questions.every((one) => textOf(one, described));
  const working = preview.busy || made.busy;
  const submit = (event) => {
    event.preventDefault();
    if (!ready || working) return;
    setMade(null);
    const half = halved(more);
    if (half) { show(async () => { throw half; }); return; }
    const bySeries = bySubject && Boolean(declared ? declared.subject : read.subject);
    const request = requested({ status, declared, data, belief, described, questions, epsilon, read, window: chosen, values, bySubject: bySeries, more });
    show(({ onJob }) => ask("/api/release", request, { onJob }));
  };
  const filled = () => requested({ status, declared, data: data || {}, belief: belief || {}, described, questions, epsilon, read, window: chosen, values, bySubject, more });
  const written = () => {
    const { data: file, ...rest } = filled();
    const { text, column, variable, gaps, ...how } = declared || {};
    const reading = declared ? given({ column, variable, gaps, read: how }) : {};
    return { ...rest, ...reading, ...given({ data: data ? file : undefined }) };
  };
  const load = ({ read: how = {}, column = "", variable = "", gaps, query = [], segment, window: own = "", epsilon: loss, by_subject: each, ...others }) => {
    loaded.current = true;
    const { recode, ...plain } = how;
    const lines = Object.entries(recode || {}).map(([value, state]) => `${value} = ${state ?? ""}`).join("\n");
    if (!declared) setRead({ ...FIRST, ...plain, column, variable, recode: lines });
    if (query.length) setQuestions(query.map((text) => questionOf(text, described)));
    const number = own !== "" && !WINDOWS.some((one) => one.value === own);
    setWindow(number ? "values" : own);
    if (number) setValues(Number(own));
    if (loss) setEpsilon(loss);
    setBySubject(Boolean(each));
    const known = Object.fromEntries(Object.entries(others).filter(([name]) => name in FIRST_MORE));
    setMore({ ...FIRST_MORE, ...known, ...given({ gaps }), ...(segment ? { first: String(segment[0]), last: String(segment[1]) } : {}) });
  };
  const confirm = () => make(async ({ onJob }) => {
    let job = null;
    const told = (now) => onJob({ ...now, cancel: () => now.cancel().catch(() => onJob({ ...now, phase: "Too late to cancel, the noise is drawn" })) });
    try {
      await ask("/api/release", { confirm: preview.result.confirm }, { onJob: told, onDone: (id) => { job = id; } });
      return await kept(await get(`/api/jobs/${encodeURIComponent(job)}`));
    } finally {
      setPreview(null);
    }
  });
  if (status.read_only) {
    return html`<section class="panel empty"><h2>This service is read-only</h2>
      <p>It reads no data and makes no releases. It shows <a href="/plan">plans</a> and the <a href="/budget">budget</a>.</p></section>`;
  }
  if (made.result) {
    return html`<${Result} done=${made.result} onAgain=${() => { setMade(null); scrollTo(0, 0); }} />`;
  }
  return html`<form class="ask" onSubmit=${submit}>
    <div>
      <section class="panel"><h2><span class="step">1</span>Data</h2>
        <${Files} status=${status} data=${data} onChoose=${take} />
        <${Progress} job=${columns.job} /><${Refusal} problem=${columns.problem} />
        ${data && declared && html`<${Declared} declared=${declared} bySubject=${bySubject} onBySubject=${setBySubject} />`}
        ${data && !declared && columns.result && html`<${Columns} columns=${columns.result.columns} records=${ofRecords(described)} read=${read} set=${setRead}
          bySubject=${bySubject} onBySubject=${setBySubject} />
          <${Reading} columns=${columns.result.columns} read=${read} set=${setRead} />`}
      </section>
      <section class="panel"><h2><span class="step">2</span>Belief</h2>
        ${status.ledger
          ? html`<${LedgerBelief} described=${held.result} /><${Refusal} problem=${held.problem} />`
          : html`<${BeliefChooser} chosen=${belief} onChoose=${believe} /><${Refusal} problem=${own.problem} />`}
      </section>
      <section class="panel"><h2><span class="step">3</span>Questions</h2>
        <${Questions} questions=${questions} described=${described} set=${setQuestions} />
        <${Select} label="Answers for" value=${chosen} onChange=${setWindow} options=${WINDOWS} />
        ${chosen === "values" && html`<${Field} label="Values in each window">${(id) => html`
          <input id=${id} type="number" min="1" step="1" required value=${values} onInput=${(event) => setValues(event.target.value)} />`}<//>`}
        <${Slider} label="Privacy loss ε" value=${epsilon} onChange=${setEpsilon} steps=${EPSILONS} least=${1e-6} most=${100}
          help="The privacy loss of this release by itself, at most." />
        <${More} more=${more} set=${setMore} status=${status} declared=${declared} />
        <${JobFile} request=${written} onLoad=${load} />
      </section>
    </div>
    <div class="cost" aria-live="polite">
      ${!preview.result && html`<section class="panel"><h2><span class="step">4</span>Cost</h2>
        <p>The preview reads the data, and shows what the release will cost and how precise it will be. It spends nothing.</p>
        <button type="submit" class="main" disabled=${!ready || working}>Preview the release</button>
        ${!data && html`<p class="note">Choose a file first.</p>`}
      </section>`}
      ${preview.busy && !preview.job && html`<p class="working" role="status">Looking…</p>`}
      <${Progress} job=${preview.job || made.job} />
      <${Refusal} problem=${preview.problem || made.problem} />
      ${preview.result && html`<${Preview} preview=${preview.result} confirming=${made.busy} onConfirm=${confirm}
        onBack=${() => setPreview(null)} />`}
      ${!preview.result && !working && html`<${Earlier} onShow=${(job) => make(() => kept(job))} />`}
    </div>
  </form>`;
}

mount(Release);
