// The preview of the editor's text, with panes to drag, and the errors in the text.
import { Problem } from "./console-api.js";
import { h } from "./console-dom.js";
import { parse, withValues } from "./console-json.js";
import { LayoutValues } from "./console-layout-values.js";
import { CANVASES } from "./console-layouts.js";
import { nodeOf, paneOverlay, panesOf, written } from "./console-panes.js";
import { field, issueList, issueText, panel, picture, problemBox, select } from "./console-ui.js";
import { plural } from "./console-words.js";

/** The time without typing after which a text is planned, in ms. */
const QUIET = 180;
const HEAD = "{\"template\":";

/** Corrects positions in the first line for the text that the request puts before the layout. */
const shift = issue => issue.line === 1 ? { ...issue, column: Math.max(1, issue.column - HEAD.length) } : issue;

/** Reads an issue from the service's message about text that is not JSON. @param {Problem} problem */
export function syntaxIssue({ detail }) {
  const [, found, line, column, expected] = /found (.+) at line (\d+), column (\d+); expected (.+)$/.exec(detail) ?? [];
  return line ? shift({ path: "$", found, expected, line: Number(line), column: Number(column) }) : null;
}

/** Whether a position lies beyond the end of the text. @param {string} text @param {{ line: number, column: number }} place */
export function isBehind(text, { line, column }) {
  const lines = text.split("\n");
  return line > lines.length || (line === lines.length && column > new TextEncoder().encode(lines.at(-1)).length + 1);
}

export class LayoutPreview {
  #people = 2;
  #canvas = "720x1280";
  #custom = "1080x1080";
  #plan = null;
  #problem = null;
  /** @type {import("./console-api.js").Issue[]} */
  #issues = [];
  #timer = 0;
  #isPlanning = false;
  #isStale = false;
  /** The pane that is being dragged. */
  #held = null;

  /** @param {import("./console-layout-editor.js").LayoutEditorView} view */
  constructor(view) {
    this.view = view;
    this.values = new LayoutValues(() => { this.planSoon(); view.draw(); });
  }

  planSoon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.plan(), QUIET);
  }

  /** The text, with the current position of the pane that is being dragged. */
  get #text() {
    const { text } = this.view.editor, held = this.#held, node = held && nodeOf(text, held);
    return node ? withValues(text, node, written(held, this.#size)) : text;
  }

  get #size() { return this.#plan?.scene.canvas ?? { width: 720, height: 1280 }; }

  /** Plans the newest text, with one request at a time. */
  async plan() {
    if (this.#isPlanning) {
      this.#isStale = true;
      return;
    }
    const { view } = this, text = this.#text, canvas = this.#canvas === "custom" ? this.#custom : this.#canvas;
    this.#isPlanning = true;
    this.#isStale = false;
    try {
      const { data } = await view.api.call("POST", `${view.path}/plan`, {
        raw: view.isReadOnly ? "{}" : `${HEAD}${text}${this.values.members(text)}}`, query: { participants: this.#people, canvas }, signal: view.signal,
      });
      // Text after the end of the value would become another member of the request.
      const isWhole = view.isReadOnly || parse(text);
      this.#problem = isWhole ? null : new Problem(400, { title: "The layout is not valid JSON", detail: "Remove the text after the closing bracket." });
      this.#issues = [];
      if (isWhole) this.#plan = data;
    } catch (error) {
      if (view.signal.aborted) return;
      if (!(error instanceof Problem)) throw error;
      const syntax = error.issues.length ? null : syntaxIssue(error);
      this.#issues = syntax ? [syntax] : error.issues.map(shift);
      // A tried value has no position in the text.
      const tried = this.#issues.filter(issue => isBehind(text, issue));
      this.#issues = this.#issues.filter(issue => !tried.includes(issue));
      if (tried.length) error = new Problem(422, { title: "A tried value is not allowed", detail: tried.map(issueText).join("\n") });
      this.#problem = this.#issues.length || error.isLost ? null : error;
    } finally {
      this.#isPlanning = false;
    }
    view.editor.mark(this.#issues.map(issue => issue.line));
    view.draw();
    if (this.#isStale) this.plan();
  }

  drawIssues() {
    const { view } = this;
    // The refusal of taking it on air shows the same issues.
    if (view.problems.get("take")?.issues.length) return null;
    if (!this.#issues.length) return problemBox(this.#problem);
    return h("div", { class: "problem", role: "status", passing: true }, h("strong", null, `${plural(this.#issues.length, "error")}: the preview shows the last valid text`),
      issueList(this.#issues, issue => view.editor.goTo(issue.line, issue.column)));
  }

  draw() {
    const { view } = this, size = this.#size, plan = this.#plan;
    const panes = plan && !view.isReadOnly ? panesOf(this.#text, this.#people, size) : [];
    const people = h("input", {
      id: "plan-people", type: "range", min: "0", max: "16", value: String(this.#people),
      on: { input: event => { this.#people = Number(event.target.value); this.planSoon(); view.draw(); } },
    });
    return panel("Preview", { id: "picture-head" },
      h("div", { class: "bar" },
        field(plural(this.#people, "participant"), people),
        field("Canvas", select("plan-canvas", [...CANVASES, ["custom", "Custom"]], this.#canvas, value => { this.#canvas = value; this.plan(); view.draw(); })),
        this.#canvas === "custom" ? field("Size", h("input", {
          id: "plan-size", value: this.#custom, pattern: "[0-9]+x[0-9]+(@[0-9]+)?", on: { change: event => { this.#custom = event.target.value.trim(); this.plan(); } },
        }), "Width x height, both even") : null),
      plan ? h("div", {
        class: `canvas ${size.width >= size.height ? "wide" : "high"} ${this.#issues.length ? "old" : ""}`,
        style: { "aspect-ratio": `${size.width} / ${size.height}` },
      },
        picture(plan.svg, `Layout with ${plural(this.#people, "participant")}, ${size.width} by ${size.height} pixels`, { draggable: "false" }),
        panes.length ? paneOverlay(panes, size, { onMove: pane => { this.#held = pane; this.plan(); view.draw(); }, onEnd: pane => this.#drop(pane) }) : null)
        : h("p", { class: "empty", role: "status" }, "No preview yet."),
      view.isReadOnly ? null : this.values.draw(this.#text),
      plan ? h("p", { class: "hint" }, panes.length
        ? "Drag a pane to move it, or its corner to resize it. Arrow keys move it; with Shift they resize it. Hold Alt to turn off snapping."
        : "An algorithm places participants in this arrangement. To drag panes, add “panes” to it.") : null);
  }

  /** Writes the pane's new position into the text. */
  #drop(pane) {
    const { view } = this, { text } = view.editor, node = nodeOf(text, pane);
    this.#held = null;
    if (!node) return;
    const focused = document.activeElement;
    view.editor.replace(withValues(text, node, written(pane, this.#size)));
    focused?.focus({ preventScroll: true });
    this.plan();
  }
}
