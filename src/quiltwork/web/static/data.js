// Data files: protected, public or sent, and what the names of their columns suggest.

import { get, remove, upload } from "./api.js";
import { FileDrop, Refusal, Select, html, size, useEffect, useState, useWork } from "./ui.js";

const SUBJECTS = /^(person|people|subject|user|patient|participant|id|household|home|house|device|series|station|meter)s?(_?id)?$/i;
const TIMES = /^(time|date|datetime|timestamp|when|t)$/i;
const NUMBERS = /int|float|decimal|double|number/i;

/** Whether a belief is about records: a column for each variable. */
export const ofRecords = (described) => Boolean(described) && ["network", "joint"].includes(described.kind);

/** What the names and types of columns suggest for a belief, as `/api/belief` describes it; everything can be changed. */
export function suggested(columns, described) {
  const named = (test) => (columns.find((column) => test(column)) || { name: "" }).name;
  const time = named((column) => /date|time/i.test(column.type)) || named((column) => TIMES.test(column.name));
  const subject = named((column) => column.name !== time && SUBJECTS.test(column.name));
  const rest = columns.filter((column) => column.name !== time && column.name !== subject);
  if (ofRecords(described)) return { column: "", subject: "", time: "" };
  const fits = (one) => (described && described.kind === "gaussian" ? NUMBERS.test(one.type) : one.type === "text");
  const column = (rest.find(fits) || rest[0] || { name: "" }).name;
  return { column, subject, time };
}

/** Choose a protected file, or send one. `onChoose` is told `{path}` or `{upload, name, bytes}`, or null. */
export function Files({ status, data, onChoose }) {
  const [listed, list] = useState([]);
  const [problem, fail] = useState(null);
  const [sending, send] = useWork();
  useEffect(() => {
    const sent = get("/api/uploads").then((answer) => answer.uploads);
    const below = status.data_folder ? get("/api/files").then((answer) => answer.files) : [];
    Promise.all([sent, below]).then(([uploads, files]) => list([...uploads, ...files.filter((file) => file.folder === "data")]), fail);
  }, []);
  const id = (file) => (file.upload ? `upload:${file.upload}` : `path:${file.path}`);
  const take = (file) => send(() => upload(file)).then((kept) => {
    if (!kept) return;
    list((before) => [kept, ...before]);
    onChoose(kept);
  });
  const forget = () => remove(`/api/uploads/${encodeURIComponent(data.upload)}`).then(() => {
    list((before) => before.filter((file) => file.upload !== data.upload));
    onChoose(null);
  }, fail);
  const options = listed.map((file) => ({ value: id(file), label: file.upload ? `${file.name} (${size(file.bytes)}, sent)` : file.path }));
  return html`<div>
    ${options.length > 0 && html`<${Select} label=${status.data_folder ? "A file that is there" : "A file that was sent"} value=${data ? id(data) : ""}
      onChange=${(name) => onChoose(listed.find((file) => id(file) === name) || null)}
      options=${[{ value: "", label: "Choose a file" }, ...options]} />`}
    <${FileDrop} label=${options.length ? "Or send one from this computer (CSV or Parquet)" : "Send a file from this computer (CSV or Parquet)"} onFile=${take} busy=${sending.busy} />
    ${sending.busy && html`<p class="working" role="status">Sending…</p>`}
    ${data && data.upload && html`<p class="note">The file is deleted when the service ends, or after an hour without use.
      <button type="button" class="plain" onClick=${forget}>Delete it now</button></p>`}
    <${Refusal} problem=${sending.problem || problem} />
  </div>`;
}

/** Choose a public data file. `onChoose` is told `{path}`, or null. */
export function PublicFiles({ data, onChoose }) {
  const [listed, list] = useState([]);
  const [problem, fail] = useState(null);
  useEffect(() => {
    get("/api/files").then((answer) => list(answer.files.filter((file) => file.folder === "public" && !file.belief)), fail);
  }, []);
  const options = listed.map((file) => ({ value: file.path, label: `${file.path} (${size(file.bytes)})` }));
  return html`<div><${Select} label="A public file" value=${data ? data.path : ""}
    onChange=${(path) => onChoose(listed.find((file) => file.path === path) || null)}
    options=${[{ value: "", label: options.length ? "Choose a file" : "There is none in the public folder" }, ...options]} />
    <${Refusal} problem=${problem} /></div>`;
}
