// The editor of one layout: its text, preview, versions, and taking it on air.
import { part } from "./console-api.js";
import { announce, confirmed, dialog, h, placeOf, render } from "./console-dom.js";
import { diffView } from "./console-diff.js";
import { Latest, repeat } from "./console-feed.js";
import { find, parse } from "./console-json.js";
import { LayoutPreview } from "./console-layout-preview.js";
import { LayoutVersions } from "./console-layout-versions.js";
import { CodeEditor } from "./console-text.js";
import { actionButton, panel, pill, problemBox, run, trail } from "./console-ui.js";

const FIRST = `{
    "$schema": "layout.schema.json",
    "description": "All participants at equal size.",
    "arrangements": [
        { "when": { "people": { "max": 1 } }, "algorithm": "solo" },
        { "algorithm": "grid", "gap": 0.01 }
    ]
}
`;

/** Extracts the template, as it was written, from a response. @param {string} text */
export function templateText(text) {
  const node = find(parse(text), "template");
  return node ? text.slice(node.start, node.end) : "";
}

/** Asks whether changes that are not on air may be discarded. */
const mayLose = () => confirm("This layout has changes that are not on air. Discard them?");

export class LayoutEditorView {
  problems = new Map();
  /** The version on which the text is based: its text and entity tag; `null` before it is read. */
  base = null;
  layout = null;
  #abort = new AbortController();
  #schema = null;
  #problem = null;
  #newer = null;
  #reads = new Latest();

  constructor({ api, root, name }) {
    Object.assign(this, { api, root, name, path: `/v1/layouts/${part(name)}` });
    this.editor = new CodeEditor({
      id: "layout-text", label: "Layout (JSON)", schema: () => this.#schema,
      onChange: () => { this.problems.delete("take"); this.preview.planSoon(); this.draw(); },
    });
    this.preview = new LayoutPreview(this);
    this.versions = new LayoutVersions(this);
  }

  get signal() { return this.#abort.signal; }
  get isReadOnly() { return this.layout?.state === "builtIn"; }

  open() {
    this.draw();
    repeat(() => this.#read(), 3000, this.signal);
    this.api.get("/assets/layout.schema.json", { signal: this.signal, quiet: true })
      .then(({ data }) => { this.#schema = data; }, () => { /* without suggestions */ });
  }

  close() { this.#abort.abort(); }
  hasChanges() { return this.base !== null && this.editor.text !== this.base.text; }
  mayLeave() { return !this.hasChanges() || mayLose(); }

  async #read() {
    const isLatest = this.#reads.begin();
    try {
      const { data, etag, text } = await this.api.get(this.path, { signal: this.signal });
      if (!isLatest()) return;
      this.#problem = null;
      this.layout = data;
      this.#found(templateText(text), etag);
      if (!this.isReadOnly) await this.versions.read();
    } catch (error) {
      if (this.signal.aborted || !isLatest()) return;
      if (error.status !== 404) { this.#problem = error; throw error; }
      if (!this.base) this.#found(FIRST, null, true);
      // The layout was deleted: the text stays, and can be taken on air again under this name.
      else if (this.layout) Object.assign(this, { layout: null, base: { ...this.base, etag: null, isNew: true } });
      // A deleted layout still has its versions.
      await this.versions.read().catch(() => { /* there never was one */ });
    } finally {
      if (!this.signal.aborted) this.draw();
    }
  }

  /** Loads the service's text, unless the operator has changed the text in the editor. */
  #found(text, etag, isNew = false) {
    if (this.base?.etag === etag && !(this.base.isNew && !isNew)) {
      this.#newer = null;
      return;
    }
    if (this.base && this.hasChanges()) {
      if (this.#newer?.etag !== etag) announce("Someone else changed this layout.");
      this.#newer = { text, etag };
      return;
    }
    if (this.base) announce(`Version ${this.layout?.version} is now in use.`);
    this.begin({ text, etag, isNew });
  }

  /** Discards the answers to reads that have begun, because an action has told of a newer state. */
  outdateReads() { this.#reads.begin()(); }

  /** Replaces the text and its base. @param {{ text: string, etag: string | null, isNew?: boolean }} base */
  begin(base) {
    this.base = base;
    this.#newer = null;
    this.editor.load(base.text);
    this.preview.plan();
  }

  draw() {
    if (this.signal.aborted) return;
    const { layout } = this, isChanged = this.hasChanges();
    const isTakeable = isChanged || this.base?.isNew || layout?.state === "deleted" || layout?.state === "broken";
    render(this.root,
      trail("Layouts", "#/layouts", this.name),
      h("div", { class: "title-row" }, h("h1", null, this.name),
        layout ? pill(layout.state === "builtIn" ? "built in" : layout.state, layout.state) : this.base?.isNew ? pill("new") : null,
        isChanged ? h("span", { class: "pill busy", passing: true }, "not on air") : null,
        h("div", { class: "row push" },
          this.isReadOnly ? null : actionButton(this, "format", "Discard changes", async () => { this.editor.replace(this.base.text); }, { disabled: !isChanged }),
          this.isReadOnly ? null : actionButton(this, "take", "Take on air", () => this.#take(), { class: "primary", disabled: !isTakeable }),
          layout && !this.isReadOnly
            ? actionButton(this, "delete", "Delete", () => this.#delete(), { class: "danger-text", disabled: layout.state === "deleted" }) : null)),
      layout ? h("p", { class: "quiet", passing: true }, layout.rooms.length
        ? `Used by ${layout.rooms.join(", ")}${layout.moreRooms ? " and more" : ""}. Changes take effect at the next frame.` : "Not used by any room.") : null,
      layout?.problem ? h("div", { class: "problem", role: "alert", passing: true },
        h("strong", null, layout.version ? `The file is invalid. Rooms keep using version ${layout.version}` : "The file is invalid. No room can use this layout"),
        h("p", { class: "lines" }, layout.problem.message)) : null,
      this.#newer ? h("div", { class: "problem calm", role: "status", passing: true },
        h("strong", null, "Someone else took another version on air. "),
        h("button", { type: "button", class: "link", on: { click: () => this.#compare() } }, "Compare")) : null,
      this.#problem?.isLost ? null : problemBox(this.#problem),
      problemBox(this.problems.get("take"), issue => this.editor.goTo(issue.line, issue.column)), problemBox(this.problems.get("delete")),
      this.base ? h("div", { class: "editor" },
        h("div", { class: "column", key: "text" }, panel("Text", { id: "text-head", class: "tight" }, this.isReadOnly
          ? h("p", { class: "empty" }, "This layout is built in and cannot be edited. Create a layout under another name instead.")
          : placeOf(this.editor.element), this.preview.drawIssues())),
        h("div", { class: "column", key: "picture" }, this.preview.draw(), this.isReadOnly ? null : this.versions.draw()))
        : h("p", { class: "empty", role: "status" }, "Loading layout…"));
  }

  /** Takes the text on air, after asking if someone else has changed the layout since it was read. */
  async #take() {
    let { etag } = this.base;
    for (;;) {
      try {
        await this.put(etag);
        return;
      } catch (error) {
        if (!error.isConflict) throw error;
        const theirs = await this.#theirs();
        const choice = await this.#ask(theirs.text);
        if (choice === "theirs") return this.begin(theirs);
        if (choice !== "mine") return;
        etag = theirs.etag;
      }
    }
  }

  /** @param {string | null} etag `null`: only if no layout has this name. */
  async put(etag) {
    const { text } = this.editor;
    const answer = await this.api.call("PUT", this.path, { raw: text, ...etag ? { etag } : { absent: true } });
    this.outdateReads();
    this.layout = answer.data;
    this.base = { text, etag: answer.etag };
    this.#newer = null;
    announce(`Version ${answer.data.version} is on air.`);
    await this.versions.read();
  }

  async #theirs() {
    const { data, etag, text } = await this.api.get(this.path);
    this.outdateReads();
    this.layout = data;
    return { text: templateText(text), etag };
  }

  #ask(theirs) {
    const mine = this.editor.text;
    return dialog(`Someone else changed ${this.name}`, close => [
      h("p", null, "Neither text is lost: yours stays in the editor, theirs is kept as a version."),
      h("div", { class: "both" },
        h("section", { "aria-label": "Theirs" }, h("h3", null, "Theirs (current)"), h("pre", { tabindex: "0" }, theirs)),
        h("section", { "aria-label": "Yours" }, h("h3", null, "Yours"), h("pre", { tabindex: "0" }, mine))),
      h("h3", null, "Changes from theirs to yours"), diffView(theirs, mine),
      h("div", { class: "row end" },
        h("button", { type: "button", on: { click: () => close() } }, "Keep editing"),
        h("button", { type: "button", on: { click: () => close("theirs") } }, "Use theirs"),
        h("button", { type: "button", class: "primary", on: { click: () => close("mine") } }, "Take mine on air")),
    ], { wide: true });
  }

  async #compare() {
    const theirs = this.#newer, choice = await this.#ask(theirs.text);
    if (choice === "theirs") this.begin(theirs);
    else if (choice === "mine") await run(this, "take", () => this.put(theirs.etag));
    this.draw();
  }

  async #delete() {
    if (!await confirmed(`Delete ${this.name}?`, "Its file is removed. Its versions are kept; roll back to one to restore the layout.", "Delete layout")) return;
    await this.api.call("DELETE", this.path, { etag: this.base.etag });
    this.outdateReads();
    announce(`${this.name} was deleted.`);
    await this.#read().catch(() => { /* it may be gone */ });
  }
}
