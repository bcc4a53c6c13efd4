// The versions of a layout: comparing them and rolling back.
import { confirmed, dialog, h } from "./console-dom.js";
import { diffView } from "./console-diff.js";
import { Latest } from "./console-feed.js";
import { templateText } from "./console-layout-editor.js";
import { actionButton, panel, problemBox } from "./console-ui.js";
import { at, bytes } from "./console-words.js";

const ORIGINS = { file: "file", api: "API", rollback: "rollback" };

export class LayoutVersions {
  #versions = [];
  #reads = new Latest();

  /** @param {import("./console-layout-editor.js").LayoutEditorView} view */
  constructor(view) { this.view = view; }

  async read() {
    const { view } = this, isLatest = this.#reads.begin();
    const { data } = await view.api.get(`${view.path}/versions`, { signal: view.signal });
    if (isLatest()) this.#versions = data.versions;
  }

  draw() {
    const { view } = this;
    return panel(`Versions (${this.#versions.length})`, { id: "versions" },
      this.#versions.length ? h("ul", { class: "list" }, this.#versions.map(one => h("li", { key: one.version, class: "row" },
        h("strong", null, `Version ${one.version}`), one.inUse ? h("span", { class: "tag" }, "in use") : null,
        h("span", { class: "quiet small grow" }, `${at(one.at)}, by ${ORIGINS[one.origin]}, ${bytes(one.bytes)}`),
        actionButton(view, `compare-${one.version}`, "Compare", () => this.#compare(one), { class: "small", label: `Compare version ${one.version} with the editor` }),
        one.inUse ? null : actionButton(view, `back-${one.version}`, "Roll back", () => this.#rollBack(one), { class: "small", label: `Roll back to version ${one.version}` }),
        problemBox(view.problems.get(`compare-${one.version}`)), problemBox(view.problems.get(`back-${one.version}`)))))
        : h("p", { class: "empty" }, "No versions yet."));
  }

  async #compare({ version }) {
    const { view } = this;
    const { text } = await view.api.get(`${view.path}/versions/${version}`);
    const old = templateText(text);
    const isTaken = await dialog(`Changes from version ${version} to the editor`, close => [
      diffView(old, view.editor.text),
      h("div", { class: "row end" }, h("button", { type: "button", on: { click: () => close(true) } }, "Load into editor"),
        h("button", { type: "button", class: "primary", on: { click: () => close() } }, "Close")),
    ], { wide: true });
    if (isTaken) view.editor.replace(old);
  }

  async #rollBack({ version }) {
    const { view } = this;
    const text = view.hasChanges() ? " Your text stays in the editor." : "";
    if (!await confirmed(`Roll back to version ${version}?`, `Rooms that use ${view.name} change at the next frame.${text}`, "Roll back")) return;
    const wasChanged = view.hasChanges();
    const answer = await view.api.call("POST", `${view.path}/rollback`, { body: { version }, etag: view.base.etag });
    const written = await view.api.get(view.path);
    view.outdateReads();
    view.layout = answer.data;
    if (wasChanged) view.base = { text: templateText(written.text), etag: written.etag };
    else view.begin({ text: templateText(written.text), etag: written.etag });
    await this.read();
  }
}
