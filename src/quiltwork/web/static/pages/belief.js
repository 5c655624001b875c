// A belief: choose, send, edit; what it says about stays and forgetting; whether it fits public data.
// The page computes nothing: every change is made by the service, which keeps rows at a sum of 1.

import { ask } from "../api.js";
import { PublicFiles, suggested } from "../data.js";
import {
  BeliefChooser, Cards, Chart, Field, FileDrop, Progress, Refusal, Select, Table, html, keepBelief, mount, percent, save, short,
  useEffect, useRef, useState, useWork,
} from "../ui.js";

const NEW = { kind: "chain", states: ["state A", "state B"], transition: [[0.9, 0.1], [0.1, 0.9]], initial: "any" };
const STARTS = [
  { value: "any", label: "any: nothing is known about the start" },
  { value: "stationary", label: "stationary: as in the long run" },
  { value: "given", label: "given: probabilities for each state" },
];
const MOST_EDITED = 24;
const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], Enter: [1, 0] };
const KINDS = {
  chain: "chain", set: "set of chains", mixing: "class of chains", interval: "chain within bounds", cycle: "chain with a daily cycle",
  hidden: "chain with phases", order: "chain of higher order", gaussian: "numbers along time", network: "network of variables",
  joint: "table of variables", dynamic: "network along time", mixture: "any mixture",
};
const NONE = { value: "", label: "none" };

const rounded = (number) => String(Number(number.toPrecision(3)));
const named = (label) => `${label.replace(/^Sample: /, "").replace(/\.json\b/i, "").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").toLowerCase() || "belief"}.json`;

/** A probability that can be typed; it is sent when the field is left, or at Enter. */
function Cell({ value, label, onChange, strong }) {
  const [typed, type] = useState(null);
  const number = typed === null || typed.trim() === "" ? NaN : Number(typed.replace(",", "."));
  const wrong = typed !== null && !(number >= 0 && number <= 1);
  const commit = () => {
    if (typed !== null && !wrong && number !== value && typed !== rounded(value)) onChange(number);
    type(null);
  };
  const key = (event) => {
    if (event.key === "Escape") type(null);
    if (!(event.key in MOVES)) return;
    event.preventDefault();
    const [down] = MOVES[event.key];
    const cell = event.target.closest("td");
    const rows = [...cell.closest("tbody").rows];
    const next = rows[rows.indexOf(cell.parentNode) + down];
    const field = next && next.cells[cell.cellIndex] && next.cells[cell.cellIndex].querySelector("input");
    if (field) field.focus(); else commit();
  };
  return html`<input class=${strong ? "cell strong" : "cell"} type="text" inputmode="decimal" aria-label=${label} title=${String(value)} value=${typed ?? rounded(value)}
    aria-invalid=${wrong ? "true" : "false"} onInput=${(event) => type(event.target.value)} onBlur=${commit} onKeyDown=${key}
    onFocus=${(event) => event.target.select()} />`;
}

/** The name of a state; it is sent when the field is left. */
function StateName({ name, onChange }) {
  const [typed, type] = useState(null);
  const commit = () => {
    if (typed !== null && typed !== name && typed.trim() !== "") onChange(typed.trim());
    type(null);
  };
  return html`<input class="state" aria-label=${`Name of the state ${name}`} value=${typed ?? name} maxlength="200"
    onInput=${(event) => type(event.target.value)} onBlur=${commit}
    onKeyDown=${(event) => { if (event.key === "Enter") event.target.blur(); if (event.key === "Escape") type(null); }} />`;
}

function Matrix({ shown, change }) {
  const { states, transition, initial } = shown.belief;
  const given = Array.isArray(initial);
  return html`<section aria-labelledby="matrix">
    <h2 id="matrix">Transitions</h2>
    <p class="note">A row has the probabilities of the next state. If you change one, the others of its row are rescaled, so that it
      still sums to 1.</p>
    <div class="wide" tabindex="0" role="group" aria-label="Transition probabilities"><table class="matrix">
      <thead><tr><th scope="col">from ↓ to →</th>${states.map((state) => html`<th scope="col" class="n" title=${state}>${state}</th>`)}
        <th scope="col"><span class="hidden">Remove</span></th></tr></thead>
      <tbody>${states.map((state, row) => html`<tr key=${row}>
        <th scope="row"><${StateName} name=${state} onChange=${(name) => change({ rename: row, name })} /></th>
        ${transition[row].map((p, column) => html`<td key=${column} class="n"><${Cell} value=${p} strong=${row === column}
          label=${`From ${state} to ${states[column]}`} onChange=${(value) => change({ cell: [row, column], value })} /></td>`)}
        <td>${states.length > 2 && html`<button type="button" class="plain" aria-label=${`Remove ${state}`} title=${`Remove ${state}`}
          onClick=${() => change({ remove: row })}>×</button>`}</td></tr>`)}
        ${given && html`<tr class="start"><th scope="row">at the start</th>${initial.map((p, place) => html`<td key=${place} class="n">
          <${Cell} value=${p} label=${`Probability of ${states[place]} at the start`}
            onChange=${(value) => change({ initial: place, value })} /></td>`)}<td></td></tr>`}
      </tbody></table></div>
    <div class="row">
      <button type="button" onClick=${() => change({ add: unused(states) })}>Add a state</button>
      <div class="grow"><${Select} label="Start of the series" value=${given ? "given" : initial} options=${STARTS}
        onChange=${(start) => change({ initial: start })} /></div>
    </div>
  </section>`;
}

function unused(states) {
  let n = states.length + 1;
  while (states.includes(`state ${n}`)) n += 1;
  return `state ${n}`;
}

function Stays({ shown }) {
  const words = shown.words.stays || [];
  const columns = [
    { name: "state", of: (row) => row.state },
    { name: "lasts on average", of: (row) => row.lasts, number: true },
    { name: "share in the long run", of: (row) => percent(row.stationary), number: true },
  ];
  const rows = shown.expected_stay.map((row, n) => ({ ...row, lasts: words[n] || (row.stays === null ? "for ever" : `${short(row.stays)} steps`) }));
  return html`<${Table} caption="How long stays last" columns=${columns} rows=${rows} />`;
}

function About({ shown, busy }) {
  const chart = (name) => shown.charts.find((one) => one.name === name);
  const [heat, stays, forgets] = ["heat", "stays", "forgets"].map(chart);
  const number = shown.records ? [String(shown.variables ?? ""), "variables"] : !shown.real && [String(shown.states.length), "states"];
  const words = shown.words;
  return html`<div class=${busy ? "stale" : ""}>
    <${Cards} items=${[
      [KINDS[shown.kind] || shown.kind, "kind of belief", true],
      number,
      words.stays && [words.forgets === null ? "never" : `after ${words.forgets}`, "a value is forgotten (less than 5 % is still known)"],
      shown.real && shown.distance !== undefined && [`${short(shown.distance)} ${shown.unit || ""}`, "difference that is hidden at any moment"],
      !shown.records && [words.step || "1 value", "step from value to value"],
    ]} />
    <div class="pair">
      ${heat && html`<section><h2>${shown.records ? "Network" : shown.real ? "Correlation" : "What follows what"}</h2>
        <${Chart} spec=${heat.spec} caption=${heat.caption} /></section>`}
      ${shown.expected_stay && html`<section><h2>Lengths of stays</h2><${Stays} shown=${shown} /></section>`}
      ${stays && html`<section><h2>How long stays last</h2><${Chart} spec=${stays.spec} caption=${stays.caption} /></section>`}
      ${forgets && html`<section><h2>Time to forget</h2><${Chart} spec=${forgets.spec} caption=${forgets.caption} /></section>`}
    </div>
  </div>`;
}

function Check({ belief, described, status }) {
  const [data, choose] = useState(null);
  const [read, set] = useState({ column: "", subject: "", time: "" });
  const [columns, list] = useWork(data);
  const [check, run] = useWork(JSON.stringify([data, belief]));
  const found = columns.result ? columns.result.columns : [];
  const source = data && { path: data.path };
  useEffect(() => {
    if (source) list(({ onJob }) => ask("/api/columns", { data: source }, { onJob })).then((answer) => answer && set(suggested(answer.columns, described)));
  }, [data]);
  const options = found.map((column) => ({ value: column.name, label: `${column.name} (${column.type})` }));
  const pick = (key) => (value) => set({ ...read, [key]: value });
  const begin = (event) => {
    event.preventDefault();
    const how = Object.fromEntries(["subject", "time"].filter((key) => read[key]).map((key) => [key, read[key]]));
    run(({ onJob }) => ask("/api/belief/check", { belief, data: source, column: read.column, read: how, charts: true }, { onJob }));
  };
  const result = check.result;
  return html`<section aria-labelledby="check">
    <h2 id="check">Does it fit public data?</h2>
    <p class="warning">Only files in the public folder of the service can be checked: public data, or other people's data of the same kind.
      The result shows them without noise, so never put data there that you want to protect.</p>
    ${!status.public_folder && html`<p class="note">This service has no public folder. Start it with <code>--public-folder G</code>.</p>`}
    <div class="pair">
      ${status.public_folder && html`<div class="panel"><${PublicFiles} data=${data} onChoose=${choose} /></div>`}
      ${data && found.length > 0 && html`<form class="panel" onSubmit=${begin}>
        <${Select} label="Column with the values" value=${read.column} onChange=${pick("column")} options=${options} />
        <${Select} label="Column that names the person" value=${read.subject} onChange=${pick("subject")} options=${[NONE, ...options]} />
        <${Select} label="Column with the time" value=${read.time} onChange=${pick("time")} options=${[NONE, ...options]} />
        <button type="submit" class="main" disabled=${check.busy || !read.column}>Check the belief</button>
      </form>`}
    </div>
    <${Progress} job=${columns.job || check.job} />
    ${check.busy && !check.job && html`<p class="working" role="status">Checking…</p>`}
    <${Refusal} problem=${columns.problem || check.problem} />
    ${result && html`<div role="status">
      <div class=${result.forgets_too_fast ? "warning" : "done"}><strong>${result.verdict}</strong><p>${result.remedy}</p></div>
      ${result.charts.map((chart) => html`<${Chart} key=${chart.name} spec=${chart.spec} caption=${chart.caption} />`)}
      <ul>${[...result.more, ...result.notes].map((text) => html`<li>${text}</li>`)}</ul>
    </div>`}
  </section>`;
}

function Send({ onBelief }) {
  const [text, type] = useState("");
  const [problem, fail] = useState(null);
  const take = (content, label) => {
    let belief;
    try {
      belief = JSON.parse(content);
    } catch {
      fail({ content: { kind: "belief", error: "the text must be JSON. Look for a comma, a quotation mark or a bracket." } });
      return;
    }
    if (belief === null || typeof belief !== "object" || Array.isArray(belief)) {
      fail({ content: { kind: "belief", error: "a belief must be a JSON object with a kind, such as chain." } });
      return;
    }
    fail(null);
    onBelief({ label, belief });
  };
  return html`<details><summary>Send or paste one</summary>
    <${FileDrop} label="A belief file (JSON)" accept=".json,application/json" onFile=${(file) => file.text().then((content) => take(content, `${file.name} (sent)`))} />
    <${Field} label="Or its text">${(id) => html`<textarea id=${id} rows="6" spellcheck="false" value=${text}
      onInput=${(event) => type(event.target.value)}></textarea>`}<//>
    <button type="button" disabled=${!text.trim()} onClick=${() => take(text, "Pasted belief")}>Use this text</button>
    <${Refusal} problem=${problem} />
  </details>`;
}

function Belief({ status }) {
  const [chosen, choose] = useState(null);
  const [state, run] = useWork();
  const [past, remember] = useState([]);
  const queue = useRef(Promise.resolve());
  const shown = state.result;
  const look = async (next, { keep = true } = {}) => {
    const answer = await run(({ onJob }) => ask("/api/belief", { belief: next.belief, charts: true }, { onJob }));
    if (!answer) return;
    const whole = "bif" in answer.belief ? next.belief : answer.belief;
    const now = { ...next, belief: whole };
    choose(now);
    if (keep) keepBelief(now);
  };
  const begin = (next) => { remember([]); choose(next); look(next); };
  // changes are made one after the other: each starts from what the one before has left
  const current = useRef(null);
  current.current = chosen;
  const change = (what) => {
    queue.current = queue.current.then(async () => {
      const before = current.current;
      const answer = await run(({ onJob }) => ask("/api/belief/edit", { belief: before.belief, change: what, charts: true }, { onJob }));
      if (!answer) return;
      const label = before.label.endsWith(" (edited)") ? before.label : `${before.label} (edited)`;
      const now = { label, belief: answer.belief };
      remember((steps) => [...steps.slice(-49), before]);
      choose(now);
      current.current = now;
      keepBelief(now);
    });
  };
  const undo = () => {
    const before = past[past.length - 1];
    remember(past.slice(0, -1));
    choose(before);
    look(before);
  };
  const editable = shown && shown.editable && shown.states.length <= MOST_EDITED;
  return html`<div class="split">
    <div class="panel">
      <${BeliefChooser} chosen=${chosen} onChoose=${begin} edit=${false} />
      <${Send} onBelief=${begin} />
      <div class="row">
        <button type="button" onClick=${() => begin({ label: "New belief", belief: NEW })}>New</button>
        <button type="button" disabled=${past.length === 0} onClick=${undo}>Undo</button>
        <button type="button" disabled=${!shown} onClick=${() => save(named(chosen.label), `${JSON.stringify(shown.belief, null, 1)}\n`)}>Download</button>
      </div>
      ${shown && html`<p class="note">Fingerprint <code>${shown.fingerprint.slice(0, 16)}</code></p>
        <p><a href="/plan">Plan a release with this belief</a></p>`}
    </div>
    <div>
      <${Progress} job=${state.job} />
      ${state.busy && !shown && !state.job && html`<p class="working" role="status">Reading…</p>`}
      <${Refusal} problem=${state.problem} />
      ${shown && html`<${About} shown=${shown} busy=${state.busy} />`}
      ${editable && html`<${Matrix} shown=${shown} change=${change} />`}
      ${shown && !editable && html`<p class="note">Only a single chain with up to ${MOST_EDITED} states can be edited here. Change the file of
        this belief, and send it again.</p>`}
      ${shown && !status.read_only && !shown.records && html`<${Check} belief=${chosen.belief} described=${shown} status=${status} />`}
    </div>
  </div>`;
}

mount(Belief);
