// A plan: how much noise a question needs, and how its answer would look on simulated data.
// What was computed before is kept, and what may be asked next is computed ahead of time.

import { ask, latest } from "../api.js";
import { Question, firstQuestion, suited, textOf } from "../questions.js";
import {
  BeliefChooser, Cards, Chart, EPSILONS, Progress, Refusal, Slider, Table, Warnings, exact, html, mount, short, useBelief, useEffect,
  useMemo, useRef, useState, useWork, whole,
} from "../ui.js";

const LENGTHS = [24, 48, 96, 192, 336, 672, 1344, 2688, 5376, 10752, 35040];
const PEOPLE = [1, 2, 5, 10, 20, 40, 60, 100, 200, 500, 1000];
const WINDOWS = [4, 8, 12, 24, 48, 96, 192, 336, 672];
const FIRST = { epsilon: 1, length: 672, people: 40, windowed: false, window: 96, draw: 0, seed: 0 };
const KEPT = "quiltwork-plan";
const IDLE = 500; // milliseconds without a change after which neighbours are computed
const SLOW = 3; // seconds of a calibration after which nothing is computed ahead: others may need the service
const FEW = 12; // rows of a table that stands beside its picture
const GUARANTEES = { pufferfish: "yes", bayesian: "yes", none: "none" };

const MOVED = " The range is around the number as it is drawn; what is shown is the nearest that keeps to public facts, such as the number of all values.";

/** Whether numbers were made consistent: then they are not in the middle of their ranges. */
const moved = (rows) => rows.some((row) => Math.abs(row.low + row.high - 2 * row.noisy) > 1e-3 * (row.high - row.low));

function kept() {
  try {
    return { ...FIRST, ...JSON.parse(sessionStorage.getItem(KEPT)), draw: 0 };
  } catch {
    return FIRST;
  }
}

/** The request for what is on the sliders. */
function requested(chosen, described, question, wanted) {
  const records = ["network", "joint"].includes(described.kind);
  const content = {
    belief: chosen.belief, query: textOf(question, described), epsilon: wanted.epsilon, people: wanted.people,
    ...(wanted.draw ? { draw: wanted.draw } : {}), ...(wanted.seed ? { seed: wanted.seed } : {}),
  };
  if (records) return content;
  return { ...content, length: wanted.length, ...(wanted.windowed ? { window: Math.min(wanted.window, wanted.length) } : {}) };
}

const near = (steps, value) => {
  const at = steps.reduce((best, step, n) => (Math.abs(step - value) < Math.abs(steps[best] - value) ? n : best), 0);
  return steps.map((step, n) => [Math.abs(n - at), step]).sort((a, b) => a[0] - b[0]).map(([, step]) => step).filter((step) => step !== value);
};

/** What sliders may be moved to next: first what needs no new calibration, then the nearest ε and lengths. */
function around(wanted) {
  const [losses, lengths] = [near(EPSILONS, wanted.epsilon), near(LENGTHS, wanted.length)];
  const next = near(PEOPLE, wanted.people).slice(0, 4).map((people) => ({ ...wanted, people }));
  if (wanted.windowed) next.push(...near(WINDOWS, wanted.window).slice(0, 4).map((window) => ({ ...wanted, window })));
  for (let n = 0; n < Math.max(losses.length, lengths.length); n += 1) {
    if (n < losses.length) next.push({ ...wanted, epsilon: losses[n] });
    if (n % 2 === 0 && n / 2 < lengths.length) next.push({ ...wanted, length: lengths[n / 2] });
  }
  return next;
}

const seconds = (plan) => plan.mechanisms.reduce((sum, one) => sum + (one.seconds || 0), 0);

/** Answers by request: at once if there is one, else from the service; neighbours are asked for when nothing else is to do. */
function useAnswers() {
  const held = useRef({ known: new Map(), newest: latest(), turn: 0, timer: 0, ahead: false });
  const [state, set] = useState({ busy: false, answer: null, problem: null });
  const keep = (key, answer) => {
    const { known } = held.current;
    known.delete(key);
    known.set(key, answer);
    if (known.size > 300) known.delete(known.keys().next().value);
  };
  const want = async (content, neighbours) => {
    const own = ++held.current.turn;
    const key = JSON.stringify(content);
    clearTimeout(held.current.timer);
    try {
      let answer = held.current.known.get(key);
      if (!answer) {
        set((before) => ({ ...before, busy: true }));
        answer = await held.current.newest.run((signal) => ask("/api/preview", content, { query: { latest: true }, wait: 60, signal }));
        if (answer === undefined) return;
      }
      keep(key, answer);
      if (own !== held.current.turn) return;
      set({ busy: false, answer, problem: null });
      if (seconds(answer.plan) < SLOW) held.current.timer = setTimeout(() => ahead(own, neighbours), IDLE);
    } catch (problem) {
      if (own === held.current.turn) set((before) => ({ ...before, busy: false, problem }));
    }
  };
  const ahead = async (own, neighbours) => {
    if (held.current.ahead) return;
    held.current.ahead = true;
    try {
      for (const content of neighbours) {
        if (own !== held.current.turn || document.hidden) return;
        const key = JSON.stringify(content);
        if (!held.current.known.has(key)) keep(key, await ask("/api/preview", content, { wait: 60 }));
      }
    } catch {
      // what cannot be computed ahead of time is refused when it is asked for
    } finally {
      held.current.ahead = false;
    }
  };
  return [state, want];
}

function Mechanisms({ content, plan, others, chart }) {
  const [state, run] = useWork(JSON.stringify({ ...content, draw: 0, seed: 0 }));
  const compare = () => run(({ onJob }) => {
    const { draw, seed, people: _, ...records } = content;
    const asked = content.length ? { ...records, people: content.people } : records;
    const names = [...plan.mechanisms.map((one) => one.mechanism), ...others];
    return ask("/api/plan", { ...asked, mechanisms: names, advice: false, charts: true }, { onJob });
  });
  const shown = state.result || plan;
  const picture = state.result ? state.result.charts[0] : chart;
  const without = shown.mechanisms.filter((one) => !one.refused && one.guarantee === "none").map((one) => one.mechanism).join(", ");
  const refused = shown.mechanisms.filter((one) => one.refused && others.includes(one.mechanism)).map((one) => one.mechanism);
  const columns = [
    { name: "mechanism", of: (row) => row.mechanism },
    { name: "noise scale", of: (row) => short(row.noise_scale), number: true },
    { name: "±95 %", of: (row) => short(row.error_95), number: true },
    { name: "guarantee", of: (row) => (row.refused ? "–" : GUARANTEES[row.guarantee] || row.guarantee) },
    { name: "why", of: (row) => shown.reasons[row.mechanism] || "" },
  ];
  return html`<section aria-labelledby="mechanisms"><h2 id="mechanisms">Mechanisms side by side</h2>
    ${picture && html`<${Chart} spec=${picture.spec} caption=${`${picture.caption}${without ? ` Only mechanisms with a guarantee count: not ${without}.` : ""}`} />`}
    ${state.result && refused.length > 0 && html`<p role="status">${refused.join(", ")}: not possible here. The table says why.</p>`}
    <details open=${Boolean(state.result)}><summary>As a table, with reasons</summary>
      <${Table} caption="Mechanisms" columns=${columns} rows=${shown.mechanisms} /></details>
    ${others.length > 0 && !state.result && !state.busy && html`<p><button type="button" onClick=${compare}>Compare with
      ${" "}${others.join(", ")}</button> <span class="note">This may take a while.</span></p>`}
    ${state.busy && !state.job && html`<p class="working" role="status">Computing…</p>`}
    <${Progress} job=${state.job} /><${Refusal} problem=${state.problem} />
  </section>`;
}

function Rows({ rows, all }) {
  const windows = rows.some((row) => row.window);
  const columns = [
    ...(windows ? [{ name: "values", of: (row) => row.window.replace(":", " to ") }] : []),
    { name: "what", of: (row) => row.what },
    { name: "true", of: (row) => exact(row.true), number: true },
    { name: "released", of: (row) => exact(row.noisy), number: true },
    { name: "95 % range", of: (row) => `${short(row.low)} to ${short(row.high)}`, number: true },
  ];
  const table = html`<${Table} caption="True and noisy numbers on simulated data" columns=${columns} rows=${rows} />
    ${all > rows.length && html`<p class="note">The first ${rows.length} of ${whole(all)} numbers.</p>`}`;
  return rows.length <= FEW && !windows ? table : html`<details><summary>The numbers</summary>${table}</details>`;
}

function Answer({ state, busy, content, unit, onDraw, onSeed }) {
  const { plan, meaning, preview, spans, others, chart } = state.answer;
  const best = plan.mechanisms.find((one) => one.mechanism === state.answer.best) || plan.mechanisms[0];
  return html`<div class=${busy ? "stale" : ""} aria-busy=${busy ? "true" : "false"}>
    <${Cards} items=${[
      [`± ${short(best.error_95)}${unit}`, `on each number, with probability 95\u00a0%${content.window ? `, for each window of ${spans.window}` : ""}`, true],
      [short(best.noise_scale), `noise scale (${best.mechanism})`],
      [`50 → ${meaning.text.replace(" ", "\u00a0")}`, "what a 50\u00a0% likely secret becomes at most"],
      content.length && [spans.length, `length of each series (${whole(content.length)} values)`],
    ]} />
    <${Warnings} texts=${plan.warnings} />
    <section aria-labelledby="preview"><h2 id="preview">How the answer would look</h2>
      ${preview.chart && html`<div class=${content.window || preview.rows.length > FEW ? "" : "pair"}>
          <${Chart} spec=${preview.chart.spec} caption=${`${preview.chart.caption}${moved(preview.rows) ? MOVED : ""}`} />
          <div><${Rows} rows=${preview.rows} all=${preview.all_rows} /></div></div>
        <div class="row"><button type="button" onClick=${onDraw}>Draw the noise again</button>
          <button type="button" onClick=${onSeed}>Simulate other data</button></div>`}
      ${preview.why_not && html`<p class="note">There is no preview here: ${preview.why_not}</p>`}
    </section>
    <div class="pair">
      <section aria-labelledby="promise"><h2 id="promise">What ε = ${exact(plan.epsilon)} means</h2>
        <${Chart} spec=${meaning.chart.spec} caption=${meaning.chart.caption} /></section>
      <${Mechanisms} content=${content} plan=${plan} others=${others} chart=${chart} />
    </div>
  </div>`;
}

function Plan() {
  const [chosen, choose] = useState(null);
  const [asked, ask_] = useState(null);
  const [wanted, want] = useState(kept);
  const [state, answer] = useAnswers();
  const belief = useBelief(chosen);
  const described = belief.result;
  const question = useMemo(() => described && suited(asked || firstQuestion(described), described), [asked, described]);
  const ready = chosen && described && question && textOf(question, described) && !belief.busy && !belief.problem;
  const content = useMemo(() => (ready ? requested(chosen, described, question, wanted) : null), [ready, chosen, described, question, wanted]);
  useEffect(() => {
    try {
      const { draw, ...rest } = wanted;
      sessionStorage.setItem(KEPT, JSON.stringify(rest));
    } catch {
      // a tab without storage begins anew on each visit
    }
    if (content) answer(content, around({ ...wanted, draw: 0 }).map((next) => requested(chosen, described, question, next)));
  }, [content]);
  const set = (key) => (value) => want({ ...wanted, draw: 0, [key]: value });
  const records = described && ["network", "joint"].includes(described.kind);
  const unit = described && described.unit && question && ["mean", "sum"].includes(question.kind) ? ` ${described.unit}` : "";
  const spans = state.answer ? state.answer.spans : {};
  const people = html`<${Slider} label=${records ? "Number of records" : "Number of people"} value=${wanted.people} onChange=${set("people")}
    steps=${PEOPLE} least=${1} most=${1000000} whole />`;
  return html`<div class="split">
    <form class="panel" onSubmit=${(event) => event.preventDefault()}>
      <${BeliefChooser} chosen=${chosen} onChoose=${choose} />
      ${question && html`<${Question} question=${question} described=${described} onChange=${ask_} />`}
      <${Slider} label="Privacy loss ε" value=${wanted.epsilon} onChange=${set("epsilon")} steps=${EPSILONS} least=${0.001} most=${50} />
      ${records ? people : html`
        <${Slider} label="Length of a series" value=${wanted.length} onChange=${set("length")} steps=${LENGTHS} least=${1} most=${1000000} whole
          unit="values" help=${`values${spans.length && wanted.length === state.answer.plan.length ? `: ${spans.length}` : ""}`} />
        ${people}
        <label class="check"><input type="checkbox" checked=${wanted.windowed} onChange=${(event) => set("windowed")(event.target.checked)} />
          An answer for each window</label>
        ${wanted.windowed && html`<${Slider} label="Window" value=${wanted.window} onChange=${set("window")} steps=${WINDOWS} least=${1} most=${1000000}
          whole unit="values" help=${spans.window ? `values: ${spans.window}` : "values"} />`}`}
      <p class="working" role="status">${state.busy || (belief.busy && !state.answer) ? "Computing…" : ""}</p>
    </form>
    <div>
      <${Refusal} problem=${belief.problem || state.problem} />
      <${Progress} job=${belief.job} />
      ${state.answer && !belief.problem && !state.problem && html`<${Answer} state=${state} busy=${state.busy || belief.busy} content=${content || {}} unit=${unit} onDraw=${() => want({ ...wanted, draw: wanted.draw + 1 })}
        onSeed=${() => want({ ...wanted, seed: wanted.seed + 1 })} />`}
    </div>
  </div>`;
}

mount(Plan);
