// The building blocks of the views.
import { Problem } from "./console-api.js";
import { announce, dialog, h } from "./console-dom.js";
import { tone } from "./console-words.js";

/** Shows a state as a coloured word. @param {string} word @param {string} [state] The state that determines the colour. */
export const pill = (word, state = word) => h("span", { class: `pill ${tone(state)}`, passing: true }, word);

/** @param {string} title @param {{ actions?: any, id: string, class?: string }} options @param {...any} children */
export const panel = (title, { actions, id, class: name }, ...children) => h(
  "section", { class: `panel ${name ?? ""}`, "aria-labelledby": id, key: id },
  h("div", { class: "panel-head" }, h("h2", { id }, title), actions ? h("div", { class: "row" }, actions) : null), children);

/** Shows the path to a view. @param {string} list @param {string} href @param {string} name */
export const trail = (list, href, name) => h("nav", { class: "path", "aria-label": "Breadcrumb" },
  h("a", { href }, list), h("span", { "aria-hidden": "true" }, " / "), h("span", { "aria-current": "page" }, name));

/** @param {Problem | Error | null} problem @param {(issue: any) => void} [onIssue] */
export function problemBox(problem, onIssue) {
  if (!problem) return null;
  const { detail, field, expected, issues = [] } = problem;
  return h("div", { class: "problem", role: "alert", passing: true },
    h("strong", null, problem.title ?? "Something went wrong"),
    // The detail of a layout problem only repeats its issues.
    issues.length ? null : h("p", null, detail ?? problem.message),
    !issues.length && field ? h("p", { class: "quiet" }, "Field: ", h("code", null, field), expected ? ` – expected ${expected}` : "") : null,
    issues.length ? issueList(issues, onIssue) : null);
}

/** @param {import("./console-api.js").Issue} issue */
export const issueText = ({ path, found, expected, suggestion }) =>
  `${path}: found ${found}, expected ${expected}${suggestion ? `; did you mean ${suggestion}?` : ""}`;

/** @param {import("./console-api.js").Issue[]} issues @param {(issue: any) => void} [onIssue] */
export const issueList = (issues, onIssue) => h("ul", { class: "issues" }, issues.map(issue => h("li", null,
  onIssue ? h("button", { type: "button", class: "link", on: { click: () => onIssue(issue) } }, `Line ${issue.line}, column ${issue.column}`)
    : `Line ${issue.line}, column ${issue.column}`,
  " ", issueText(issue))));

/**
 * A button that runs an action on the service. It is busy meanwhile; a failure is kept under `id` for the view to show.
 * @param {{ problems: Map<string, Problem>, draw: () => void }} view @param {string} id @param {string} label
 * @param {() => Promise<any>} action @param {{ class?: string, done?: string, disabled?: boolean, label?: string, pressed?: boolean }} [options]
 */
export function actionButton(view, id, label, action, options = {}) {
  const isBusy = view.busy?.has(id);
  return h("button", {
    type: "button", key: id, class: options.class, "aria-label": options.label, disabled: options.disabled, "aria-busy": isBusy ? "true" : null,
    "aria-pressed": options.pressed === undefined ? null : String(options.pressed),
    on: { click: () => run(view, id, action, options.done) },
  }, label);
}

/** Runs an action, one at a time for each `id`, and keeps its problem under `id`. */
export async function run(view, id, action, done) {
  view.busy ??= new Set();
  if (view.busy.has(id)) return;
  view.busy.add(id);
  view.problems.delete(id);
  view.draw();
  try {
    await action();
    if (done) announce(done);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    view.problems.set(id, error);
  } finally {
    view.busy.delete(id);
    view.draw();
  }
}

/** @param {string} label @param {Element} control With an `id`. @param {string} [hint] */
export function field(label, control, hint) {
  const note = hint ? h("span", { class: "hint", id: `${control.id}-hint` }, hint) : null;
  if (note) control.setAttribute("aria-describedby", note.id);
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control, note);
}

/** @param {string} id @param {[value: string, label: string][]} choices @param {string} value @param {(value: string) => void} [onChange] */
export const select = (id, choices, value, onChange) => h(
  "select", { id, value, on: onChange ? { change: event => onChange(event.target.value) } : undefined },
  choices.map(([choice, label]) => h("option", { value: choice, selected: choice === value }, label)));

/** Lists names with values. Rows without a value are omitted. @param {[string, any][]} rows */
export const facts = rows => h("dl", { class: "facts" }, rows.filter(row => row[1] !== null && row[1] !== undefined && row[1] !== "")
  .map(([name, value]) => [h("dt", null, name), h("dd", null, value)]));

/** @param {string} caption @param {string[]} heads @param {any[]} rows */
export const table = (caption, heads, rows) => h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, h("table", null,
  h("caption", { class: "unseen" }, caption),
  h("thead", null, h("tr", null, heads.map(head => h("th", { scope: "col" }, head)))), h("tbody", null, rows)));

/** Shows a layout's picture from the service's SVG. @param {string} svg @param {string} alt */
export const picture = (svg, alt, props = {}) => h("img", { ...props, alt, src: `data:image/svg+xml,${encodeURIComponent(svg)}` });

/**
 * Shows that someone else has changed the same settings, and asks whose to use. Neither side's changes are lost.
 * @param {[what: string, theirs: string, mine: string][]} rows @param {string} title
 * @returns {Promise<"theirs" | "mine" | undefined>}
 */
export const conflict = (title, rows) => dialog(title, close => [
  h("p", null, "This happened while you were editing. Your changes are not applied yet."),
  table("Both versions", ["", "Theirs (current)", "Yours"], rows.map(([what, theirs, mine]) => h("tr", { class: theirs === mine ? null : "differs" },
    h("th", { scope: "row" }, what), h("td", null, theirs), h("td", null, mine)))),
  h("div", { class: "row end" },
    h("button", { type: "button", on: { click: () => close() } }, "Keep editing"),
    h("button", { type: "button", on: { click: () => close("theirs") } }, "Use theirs"),
    h("button", { type: "button", class: "primary", on: { click: () => close("mine") } }, "Apply mine")),
], { wide: true });
