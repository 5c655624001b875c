// The ledger: what is left, the loss along time, who spent what; verify and export.

import { ask } from "../api.js";
import { Cards, Chart, Progress, Refusal, Warnings, html, mount, useEffect, useWork, whole } from "../ui.js";
import { BudgetBar, Facts, Said, ShownTable, cardsOf } from "../shown.js";

function Empty() {
  return html`<section class="panel empty">
    <h2>No ledger yet</h2>
    <p>This service keeps no ledger, so nothing limits what is released from the same data. A ledger adds up the privacy
    loss of all releases, and refuses one that would exceed the budget.</p>
    <p>Create one for your belief and your budget, and start the service with it:</p>
    <pre tabindex="0">quiltwork ledger create sqlite:///ledger.db --belief belief.json --budget 2 --column VALUES --subject PERSON --time TIME
quiltwork serve --ledger sqlite:///ledger.db --data-folder DATA</pre>
    <p class="note">The ledger stores the belief, how the data are read, what was asked and what it cost. It stores no data.</p>
  </section>`;
}

function Verified({ found }) {
  if (!found) return null;
  if (found.whole) {
    return html`<p class="done" role="status"><strong>The ledger is whole.</strong> Its ${whole(found.rows)} rows were
      checked, with their hashes and sums. Head: <code>${found.head_number}:${found.head}</code></p>`;
  }
  return html`<div class="refusal" role="alert"><p><strong>The ledger is broken</strong></p>
    <ul>${found.problems.map((problem) => html`<li>${problem}</li>`)}</ul>
    <p>Compare it with an earlier export.</p></div>`;
}

function Checks({ head }) {
  const [verifying, verify] = useWork();
  return html`<section>
    <h2>Check and keep</h2>
    <p>Rows are tied by hashes. Whoever keeps the head can tell later whether rows were changed or cut off.</p>
    <p>Head: <code>${head}</code></p>
    <div class="row">
      <button type="button" disabled=${verifying.busy}
        onClick=${() => verify(({ onJob }) => ask("/api/ledger/verify", undefined, { onJob }))}>Verify the ledger</button>
      <a class="button" href="/api/ledger/export.jsonl" download="ledger.jsonl">Export as JSON lines</a>
    </div>
    <${Progress} job=${verifying.job} /><${Refusal} problem=${verifying.problem} /><${Verified} found=${verifying.result} />
  </section>`;
}

function Account({ shown, status }) {
  const none = shown.releases.rows.length === 0;
  return html`<div>
    <${Cards} items=${cardsOf(shown)} />
    <${BudgetBar} budget=${shown.budget} />
    <${Warnings} texts=${shown.verdicts.map(({ text }) => text)} />
    ${none
      ? html`<section class="panel empty"><h2>Nothing has been released yet</h2>
          <p>The whole budget is left. ${status.read_only
            ? "Releases will appear here."
            : html`<a href="/release">Make the first release</a>, after <a href="/plan">planning</a> what it needs.`}</p></section>`
      : html`<div>
          <section><h2>Privacy loss</h2>
            <div class="pair">${shown.charts.map((chart) => html`<${Chart} spec=${chart.spec} caption=${chart.caption} />`)}</div></section>
          <section><h2>Who spent what</h2>
            <${ShownTable} caption="Who spent what" table=${shown.people} />
            <p class="note">The loss of all releases together is not their sum: it is what the composition rule allows.</p></section>
          <section><h2>Releases</h2>
            <${ShownTable} caption="Releases, the latest first" table=${shown.releases} />
            <${Said} texts=${shown.more} kind="note" /></section>
        </div>`}
    <section><h2>What it is for</h2><p class="lead">${shown.title}</p><${Facts} items=${shown.facts} /></section>
    <${Checks} head=${shown.head} />
  </div>`;
}

function Budget({ status }) {
  const [account, load] = useWork();
  useEffect(() => {
    if (status.ledger) load(({ onJob }) => ask("/api/ledger/shown", undefined, { onJob }));
  }, []);
  if (!status.ledger) return html`<${Empty} />`;
  return html`<div aria-busy=${account.busy ? "true" : "false"}>
    ${account.busy && !account.job && html`<p class="working" role="status">Reading the ledger…</p>`}
    <${Progress} job=${account.job} /><${Refusal} problem=${account.problem} />
    ${account.result && html`<${Account} shown=${account.result} status=${status} />`}
  </div>`;
}

mount(Budget);
