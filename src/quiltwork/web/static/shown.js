// Parts of pages that put in place what the service says: tables, facts and budgets, as text and shares.

import { Table, html } from "./ui.js";

/** A share from 0 to 1 as a length. */
export const share = (part) => `${(100 * part).toFixed(2)}%`;

/** Cards as the service sends them, the first one strong; a percent sign stays with its number. */
export const cardsOf = ({ cards }) => cards.map((card, n) => [...card.map((text) => text.replaceAll(" %", "\u00a0%")), n === 0]);

/** A table `{columns, numbers, rows, more}` as the service sends it; `numbers` are the columns that are set to the right. */
export function ShownTable({ caption, table }) {
  const columns = table.columns.map((name, n) => ({ name, of: (row) => row[n], number: table.numbers.includes(name) }));
  return html`<div class="shown"><${Table} caption=${caption} columns=${columns} rows=${table.rows} />
    ${table.more && html`<p class="note">${table.more}</p>`}</div>`;
}

/** Sentences as the service sends them, a paragraph each. */
export const Said = ({ texts, kind = "" }) => (texts || []).map((text) => html`<p class=${kind}>${text}</p>`);

/** Pairs `[what, value]`. */
export function Facts({ items }) {
  return html`<dl class="facts">${items.map(([what, value]) => html`<dt>${what}</dt><dd>${value}</dd>`)}</dl>`;
}

/** What was spent before, what comes to it, and what is left: `{text, shares}`. */
export function BudgetBar({ budget, said = true }) {
  return html`<div class="budget">
    <div class="bar" role="img" aria-label=${budget.text}>${budget.shares.map((part, n) =>
      html`<i class=${n < budget.shares.length - 1 ? "before" : ""} style=${{ width: share(part) }}></i>`)}</div>
    ${said && html`<p class="note">${budget.text}</p>`}
  </div>`;
}
