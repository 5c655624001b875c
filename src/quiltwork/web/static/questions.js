// Questions: kinds with their states, or any other as text. What each costs is for the service to say.

import { html, Field, Select } from "./ui.js";

const OF_STATES = [
  { kind: "histogram", label: "Histogram: how many values are in each state" },
  { kind: "frequencies", label: "Frequencies: the share of each state" },
  { kind: "count", state: true, label: "Count: how many values are in one state" },
  { kind: "share", state: true, label: "Share: the share of one state" },
  { kind: "transitions", label: "Transitions: how often each state follows each" },
  { kind: "stays", label: "Stays: how many stays there are in each state" },
  { kind: "stay-length", state: true, label: "Stay length: the mean length of stays in one state" },
  { kind: "top:3", label: "Top three: the most frequent states" },
];
const OF_NUMBERS = [
  { kind: "mean", label: "Mean" },
  { kind: "sum", label: "Sum" },
  { kind: "trend", label: "Trend: change per step" },
];
const OF_RECORDS = [
  { kind: "histogram", label: "Histogram: how many variables have each value" },
  { kind: "count", state: true, label: "Count: how many variables have one value" },
  { kind: "share", state: true, label: "Share: the share of one value" },
];
const OTHER = { kind: "other", label: "Another question, as text" };

/** The kinds of questions that suit a belief, as `/api/belief` describes it. */
function kindsFor(described) {
  if (described && described.kind === "gaussian") return [...OF_NUMBERS, OTHER];
  if (described && ["network", "joint"].includes(described.kind)) return [...OF_RECORDS, OTHER];
  return [...OF_STATES, OTHER];
}

const statesOf = (described) => (described && Array.isArray(described.states) ? described.states : []);

/** The first question that a belief suggests. */
export const firstQuestion = (described) => ({ kind: kindsFor(described)[0].kind, state: statesOf(described)[0] ?? "", text: "" });

/** The question if a belief allows it, with one of the belief's states; else the first that the belief suggests. */
export function suited(question, described) {
  const kind = kindsFor(described).find((one) => one.kind === question.kind);
  if (!kind) return firstQuestion(described);
  const states = statesOf(described);
  return !kind.state || states.includes(question.state) ? question : { ...question, state: states[0] ?? "" };
}

/** A question as text: `count:walk`. */
export function textOf(question, described) {
  if (question.kind === "other") return question.text.trim();
  const kind = kindsFor(described).find((one) => one.kind === question.kind);
  return kind && kind.state ? `${question.kind}:${quoted(question.state)}` : question.kind;
}

/** A name as it stands in a text: as a JSON string where it could be taken for something else. */
const quoted = (name) => (/[:,|&="*]|^\s|\s$|\bover\b/.test(name) ? JSON.stringify(name) : name);

/** A question from its text, as a job file has it; what no kind here says stays text. */
export function questionOf(text, described) {
  const at = text.indexOf(":");
  const [name, said] = at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
  const state = statesOf(described).find((one) => one === said || quoted(one) === said) ?? "";
  const found = kindsFor(described).find((one) => one.kind === text || (one.state && one.kind === name && state));
  return found ? { kind: found.kind, state, text: "" } : { kind: OTHER.kind, state: "", text };
}

/** Choose one question; `onChange` is told the whole of it. */
export function Question({ question, described, onChange, label = "Question" }) {
  const kinds = kindsFor(described);
  const states = statesOf(described);
  const chosen = kinds.find((one) => one.kind === question.kind) || OTHER;
  const choose = (kind) => onChange({ ...question, kind, state: states.includes(question.state) ? question.state : states[0] ?? "" });
  return html`<div class="question">
    <${Select} label=${label} value=${chosen.kind} onChange=${choose}
      options=${kinds.map((one) => ({ value: one.kind, label: one.label }))} />
    ${chosen.state && html`<${Select} label="State" value=${question.state}
      onChange=${(state) => onChange({ ...question, state })} options=${states.map((state) => ({ value: state, label: state }))} />`}
    ${chosen.kind === "other" && html`<${Field} label="As text" help="As the command takes it, such as stays:walk or quantile:0.9.">
      ${(id) => html`<input id=${id} value=${question.text} onInput=${(event) => onChange({ ...question, text: event.target.value })} />`}<//>`}
  </div>`;
}
