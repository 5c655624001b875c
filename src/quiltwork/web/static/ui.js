// What pages share: mounting, refusals, progress, charts, tables, sliders, files, the chosen belief, number formats.
// Everything from the service is put into the page as text: preact escapes it.

import { html, render, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./vendor/preact.js";
import { ask, get } from "./api.js";

export { html, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState };

/** Fill the page: `Page` is told what the service offers (`status`, as /api/status). */
export function mount(Page) {
  const place = document.getElementById("app");
  render(html`<${Page} status=${JSON.parse(place.dataset.status)} />`, place);
}

/* ---- numbers, as they are written on paper ---- */

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const FINE = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const FULL = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });
const SHARE = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });

export const whole = (number) => (number === null || number === undefined ? "–" : WHOLE.format(number));
export const short = (number) => (number === null || number === undefined ? "–" : Math.abs(number) >= 1000 ? WHOLE.format(number) : FINE.format(number));
export const exact = (number) => (number === null || number === undefined ? "–" : FULL.format(number));
export const percent = (number) => (number === null || number === undefined ? "–" : SHARE.format(number));
export const size = (bytes) => (bytes < 1000 ? `${bytes} B` : bytes < 1e6 ? `${FINE.format(bytes / 1e3)} kB` : `${FINE.format(bytes / 1e6)} MB`);

/* ---- what went wrong, and what takes a while ---- */

const TITLES = {
  budget: "The budget would be exceeded",
  "not-covered": "No theorem covers this",
  belief: "This belief cannot be used",
  query: "This question cannot be asked",
  data: "This data cannot be used",
  "read-only": "This service is read-only",
  network: "No answer",
  token: "You are signed out",
  cancelled: "Cancelled",
  time: "It took too long",
};

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** A refusal as the command words it: what, got, why, next; for a budget also requested, remaining, short by. */
export function Refusal({ problem }) {
  if (!problem) return null;
  const content = problem.content || { error: problem.message || "something went wrong in this page." };
  const amounts = ["requested", "remaining", "short"].filter((name) => typeof content[name] === "number");
  return html`<div class="refusal" role="alert">
    <p><strong>${TITLES[content.kind] || "This cannot be done"}</strong></p>
    <p>${sentence(content.error)}</p>
    ${amounts.length > 0 && html`<dl>${amounts.map((name) => html`
      <dt>${name === "short" ? "Short by" : sentence(name)}</dt><dd>ε = ${exact(content[name])}</dd>`)}</dl>`}
  </div>`;
}

/** How far a job is, with a button that cancels it. */
export function Progress({ job }) {
  if (!job) return null;
  return html`<div class="progress" role="status">
    <span>${job.phase}…</span>
    <progress max="1" value=${job.progress ?? undefined} aria-label=${job.phase}></progress>
    <button type="button" onClick=${() => job.cancel().catch(() => {})}>Cancel</button>
  </div>`;
}

export function Warnings({ texts }) {
  return (texts || []).map((text) => html`<p class="warning">${text}</p>`);
}

/**
 * `[state, run, set]` for one request at a time: state is `{busy, job, problem, result}`; `run(work)` calls `work({onJob})`.
 * What was worked out is forgotten as soon as `about` changes: in the same turn, so nobody can ask in between.
 */
export function useWork(about = null) {
  const [state, set] = useState({ busy: false, job: null, problem: null, result: null });
  const turn = useRef(0);
  const run = useCallback(async (work) => {
    const own = ++turn.current;
    const tell = (more) => own === turn.current && set((before) => ({ ...before, ...more }));
    tell({ busy: true, problem: null, job: null });
    try {
      const result = await work({ onJob: (job) => tell({ job }) });
      tell({ busy: false, job: null, result });
      return result;
    } catch (problem) {
      tell({ busy: false, job: null, problem });
      return undefined;
    }
  }, []);
  const reset = (result) => { turn.current++; set({ busy: false, job: null, problem: null, result }); };
  useLayoutEffect(() => reset(null), [about]);
  return [state, run, reset];
}

/* ---- charts: Vega-Lite from the service, drawn here without eval ---- */

let vega = null;

function loaded(name) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = new URL(`./vendor/${name}.js`, import.meta.url).href;
    script.onload = resolve;
    script.onerror = () => reject(new Error(`${name} could not be loaded`));
    document.head.append(script);
  });
}

/** Vega is large, so it is loaded when the first chart is drawn. */
export function charting() {
  vega ??= loaded("vega").then(() => loaded("vega-lite")).then(() => loaded("vega-embed")).then(() => globalThis.vegaEmbed);
  return vega;
}

const OPTIONS = {
  mode: "vega-lite", renderer: "svg", actions: false, defaultStyle: false, ast: true, hover: false,
  tooltip: { disableDefaultStyle: true }, logLevel: 1,
};

/** The rows of a Vega-Lite chart by name, and the chart without them: what changes is told from what stays. */
function apart({ datasets, ...spec }) {
  const data = { ...datasets };
  const walk = (part) => {
    if (Array.isArray(part)) return part.map(walk);
    if (part === null || typeof part !== "object") return part;
    const copy = {};
    for (const [key, value] of Object.entries(part)) {
      if (key === "data" && value && Array.isArray(value.values)) {
        const name = `inline-${Object.keys(data).length}`;
        data[name] = value.values;
        copy[key] = { name };
      } else {
        copy[key] = walk(value);
      }
    }
    return copy;
  };
  return [walk(spec), data];
}

/**
 * A chart: `spec` is Vega-Lite as the service sends it, `caption` says what it shows (also to who cannot see it).
 * If only data have changed since the last time, the view is kept and given the new data.
 */
export function Chart({ spec, caption, hidden = false }) {
  const place = useRef(null);
  const drawn = useRef({ form: null, view: null, queue: Promise.resolve() });
  const [problem, fail] = useState(null);
  useEffect(() => {
    if (!spec) return;
    const held = drawn.current;
    held.wanted = spec;
    held.queue = held.queue.then(async () => {
      if (held.wanted !== spec || held.gone) return;
      const [form, data] = apart(spec);
      const text = JSON.stringify(form);
      const rows = JSON.parse(JSON.stringify(data)); // Vega writes into what it is given
      if (held.view && held.form === text) {
        for (const [name, values] of Object.entries(rows)) held.view.data(name, values);
        await held.view.runAsync();
      } else {
        const embed = await charting();
        if (held.gone) return;
        if (held.view) held.view.finalize();
        const result = await embed(place.current, { ...form, datasets: rows }, OPTIONS);
        held.view = result.view;
        held.form = text;
      }
      const svg = place.current && place.current.querySelector("svg");
      if (svg) {
        for (const part of svg.querySelectorAll("[role]")) { // the whole is one picture, which its caption describes
          for (const name of ["role", "aria-label", "aria-roledescription"]) part.removeAttribute(name);
        }
        svg.setAttribute("role", "img");
        svg.setAttribute("aria-label", caption);
        place.current.classList.toggle("broad", Number(svg.getAttribute("width")) > 560);
      }
      fail(null);
    }).catch((wrong) => fail(wrong));
  }, [spec]);
  useEffect(() => () => {
    drawn.current.gone = true;
    if (drawn.current.view) drawn.current.view.finalize();
  }, []);
  return html`<figure>
    <div class="picture" ref=${place}></div>
    ${problem && html`<${Refusal} problem=${problem} />`}
    ${caption && !hidden && html`<figcaption>${caption}</figcaption>`}
  </figure>`;
}

/* ---- tables, cards, fields ---- */

/** Places of sliders for ε: what was computed for one of them is there again. */
export const EPSILONS = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 5];

/** `columns`: `[{name, of: row => text, number}]`. A wide table can be moved sideways. */
export function Table({ caption, columns, rows, mark }) {
  return html`<div class="wide" tabindex="0" role="group" aria-label=${caption}><table>
    <caption class="hidden">${caption}</caption>
    <thead><tr>${columns.map((column) => html`<th scope="col" class=${column.number ? "n" : ""}>${column.name}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr class=${mark && mark(row) ? "chosen" : ""}>${columns.map((column, n) =>
      n === 0 && !column.number
        ? html`<th scope="row">${column.of(row)}</th>`
        : html`<td class=${column.number ? "n" : ""}>${column.of(row)}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}

/** Numbers that count: `items` are `[value, what, strong]`. */
export function Cards({ items }) {
  return html`<div class="cards">${items.filter(Boolean).map(([value, what, strong]) =>
    html`<div class=${strong ? "card strong" : "card"}><b>${value}</b><span>${what}</span></div>`)}</div>`;
}

let fields = 0;
export const useId = (prefix = "field") => useMemo(() => `${prefix}-${++fields}`, []);

/** A labelled control: `children` gets the id. */
export function Field({ label, help, children }) {
  const id = useId();
  return html`<div class="field"><label for=${id}>${label}</label>${children(id)}
    ${help && html`<span class="note">${help}</span>`}</div>`;
}

export function Select({ label, value, onChange, options, help }) {
  return html`<${Field} label=${label} help=${help}>${(id) => html`
    <select id=${id} value=${value} onChange=${(event) => onChange(event.target.value)}>
      ${options.map((option) => html`<option value=${option.value} selected=${option.value === value}>${option.label}</option>`)}
    </select>`}<//>`;
}

/**
 * A slider that moves over `steps` (so that what was computed before is there again), with a field for any other number.
 */
export function Slider({ label, value, onChange, steps, least, most, whole: integer = false, unit, help }) {
  const id = useId("slider");
  const [typed, type] = useState(null);
  let at = steps.findIndex((step) => step >= value);
  if (at < 0) at = steps.length - 1;
  const field = useRef(null);
  const read = (text) => (text.trim() === "" ? NaN : Number(text.replace(",", ".")));
  const allowed = (number) => Number.isFinite(number) && number >= least && number <= most && (!integer || Number.isInteger(number));
  const enter = (event) => {
    const text = event.target.value;
    type(text);
    if (allowed(read(text))) onChange(read(text));
  };
  const wrong = typed !== null && !allowed(read(typed));
  // a form is not sent with a number that is not the one on the slider
  useLayoutEffect(() => field.current.setCustomValidity(wrong ? `Give a ${integer ? "whole " : ""}number from ${exact(least)} to ${exact(most)}.` : ""));
  return html`<div class="field slider">
    <div class="value"><label for=${id}>${label}</label>
      <input type="text" inputmode=${integer ? "numeric" : "decimal"} ref=${field} aria-label=${`${label}, as a number`} value=${typed ?? value}
        autocomplete="off" onInput=${enter} onBlur=${() => type(null)} aria-invalid=${wrong ? "true" : "false"} /></div>
    <input id=${id} type="range" min="0" max=${steps.length - 1} step="1" value=${at}
      aria-valuetext=${`${exact(value)}${unit ? ` ${unit}` : ""}`}
      onInput=${(event) => { type(null); onChange(steps[Number(event.target.value)]); }} />
    ${help && html`<span class="note">${help}</span>`}
  </div>`;
}

/** Take a file by button or by dropping it. */
export function FileDrop({ label, accept, onFile, busy }) {
  const id = useId("file");
  const [over, hover] = useState(false);
  const drop = (event) => {
    event.preventDefault();
    hover(false);
    const [file] = event.dataTransfer.files;
    if (file) onFile(file);
  };
  const pick = (event) => {
    const [file] = event.target.files;
    event.target.value = "";
    if (file) onFile(file);
  };
  return html`<div class=${over ? "drop over" : "drop"} onDragOver=${(event) => { event.preventDefault(); hover(true); }}
      onDragLeave=${() => hover(false)} onDrop=${drop}>
    <label for=${id}>${label}</label>
    <div><input id=${id} type="file" accept=${accept} onChange=${pick} disabled=${busy} /></div></div>`;
}

/** Offer something to be saved as a file. */
export function save(name, text, kind = "application/json") {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/* ---- the chosen belief, which all pages of this tab share ---- */

const KEPT = "quiltwork-belief";
const OWN = "own"; // a belief that was sent, pasted or edited: it may be named like a file of the folder
const id = (one) => `${one.sample ? "sample" : "path"}:${one.label}`;

/** `{label, belief, id}`: `belief` is what requests take, `id` is there if it was offered. Null if none was chosen. */
export function keptBelief() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT));
  } catch {
    return null;
  }
}

export function keepBelief(chosen) {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(chosen));
  } catch {
    // a tab without storage still works; the other pages then begin with the sample
  }
}

/**
 * Choose a belief: samples, and belief files below the folder of data.
 * `onChoose({label, belief, id})` is also called at the beginning, with the one that was kept or the first sample.
 */
export function BeliefChooser({ onChoose, label = "Belief", chosen, edit = true }) {
  const [offered, offer] = useState(null);
  const [problem, fail] = useState(null);
  const kept = useRef(keptBelief());
  useEffect(() => {
    if (kept.current) onChoose(kept.current);
    get("/api/beliefs").then((answer) => {
      offer(answer.beliefs);
      if (!kept.current) choose(answer.beliefs[0]);
    }, fail);
  }, []);
  const choose = (one) => {
    const next = { label: one.label, belief: one.belief, id: id(one) };
    keepBelief(next);
    onChoose(next);
  };
  const at = chosen && offered && offered.some((one) => id(one) === chosen.id) ? chosen.id : OWN;
  const options = [
    ...(chosen && offered && at === OWN ? [{ value: OWN, label: chosen.label }] : []),
    ...(offered || []).map((one) => ({ value: id(one), label: one.label })),
  ];
  return html`<div>
    <${Select} label=${label} value=${at} options=${options}
      onChange=${(name) => { const one = offered.find((each) => id(each) === name); if (one) choose(one); }}
      help=${edit && html`<a href="/belief">Look at it, or change it</a>`} />
    <${Refusal} problem=${problem} />
  </div>`;
}

/** What the chosen belief says (`/api/belief`), as the state of `useWork`: busy as long as the result is that of another one. */
export function useBelief(chosen) {
  const [state, run] = useWork();
  const key = chosen && JSON.stringify(chosen.belief);
  useEffect(() => {
    if (chosen) run(async ({ onJob }) => ({ key, said: await ask("/api/belief", { belief: chosen.belief }, { onJob }) }));
  }, [key]);
  const { result, problem } = state;
  return { ...state, busy: state.busy || Boolean(key && !problem && !(result && result.key === key)), result: result && result.said };
}
