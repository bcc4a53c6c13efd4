// The list of layouts, with their pictures.
import { part } from "./console-api.js";
import { dialog, h, render } from "./console-dom.js";
import { repeat } from "./console-feed.js";
import { field, picture, pill, problemBox, select } from "./console-ui.js";
import { plural } from "./console-words.js";

const PEOPLE = [1, 2, 3, 4, 6, 9].map(count => [String(count), plural(count, "participant")]);
/** The canvases to choose from, with their labels. */
export const CANVASES = [["720x1280", "Portrait 720×1280"], ["1280x720", "Landscape 1280×720"], ["720x720", "Square 720×720"]];
const STATES = { good: "good", broken: "broken", deleted: "deleted", builtIn: "built in" };

export class LayoutsView {
  problems = new Map();
  #abort = new AbortController();
  #layouts = null;
  #problem = null;
  /** The layouts' pictures by what they show; `null` while one is fetched, and empty if that failed. */
  #pictures = new Map();
  #canvas = "720x1280";
  #people = 3;

  constructor({ api, root }) { Object.assign(this, { api, root }); }

  open() {
    this.draw();
    repeat(signal => this.#read(signal), 3000, this.#abort.signal);
  }

  close() { this.#abort.abort(); }

  async #read(signal) {
    try {
      this.#layouts = (await this.api.get("/v1/layouts", { signal })).data.layouts;
      this.#prune();
      this.#problem = null;
    } catch (error) {
      if (signal.aborted) return;
      this.#problem = error;
      throw error;
    } finally {
      if (!signal.aborted) this.draw();
    }
  }

  #key(layout) { return `${layout.name} ${layout.version} ${this.#people} ${this.#canvas}`; }

  /** Drops pictures that are not shown, and those that failed, which are requested again. */
  #prune() {
    const shown = new Set(this.#layouts.map(layout => this.#key(layout)));
    for (const [key, svg] of this.#pictures) if (svg === "" || !shown.has(key)) this.#pictures.delete(key);
  }

  #picture(layout) {
    const key = this.#key(layout);
    if (!this.#pictures.has(key)) {
      this.#pictures.set(key, null);
      this.api.call("POST", `/v1/layouts/${part(layout.name)}/plan`, {
        query: { participants: this.#people, canvas: this.#canvas }, accept: "image/svg+xml", signal: this.#abort.signal, quiet: true,
      }).then(({ text }) => { this.#pictures.set(key, text); this.draw(); }, () => { this.#pictures.set(key, ""); });
    }
    return this.#pictures.get(key);
  }

  draw() {
    if (this.#abort.signal.aborted) return;
    render(this.root,
      h("div", { class: "title-row" }, h("h1", null, "Layouts"),
        h("button", { type: "button", class: "primary push", on: { click: () => this.#make() } }, "New layout")),
      h("div", { class: "bar" },
        field("Participants", select("list-people", PEOPLE, String(this.#people), value => { this.#people = Number(value); this.draw(); })),
        field("Canvas", select("list-canvas", CANVASES, this.#canvas, value => { this.#canvas = value; this.draw(); }))),
      this.#problem?.isLost ? null : problemBox(this.#problem),
      this.#layouts ? h("ul", { class: "cards tall" }, this.#layouts.map(layout => this.#card(layout))) : h("p", { class: "empty", role: "status" }, "Loading layouts…"));
  }

  #card(layout) {
    const svg = layout.version || layout.state === "builtIn" ? this.#picture(layout) : null;
    return h("li", { class: "card", key: layout.name },
      h("div", { class: "shot" }, svg ? picture(svg, `${layout.name} with ${plural(this.#people, "participant")}`) : h("span", { class: "blank" })),
      h("div", { class: "row" }, h("a", { class: "card-link grow", href: `#/layouts/${part(layout.name)}` }, h("span", { class: "card-name" }, layout.name)),
        pill(STATES[layout.state], layout.state)),
      layout.summary ? h("p", { class: "small" }, layout.summary) : null,
      layout.problem ? h("p", { class: "bad small lines" }, layout.problem.message) : null,
      h("p", { class: "quiet small" }, [
        layout.version ? `version ${layout.version}` : null,
        layout.rooms.length ? `used by ${layout.rooms.slice(0, 4).join(", ")}${layout.rooms.length > 4 || layout.moreRooms ? " and more" : ""}` : "not used by any room",
      ].filter(Boolean).join(" · ")));
  }

  async #make() {
    const name = await dialog("New layout", close => {
      const input = h("input", { id: "new-layout", required: true, maxlength: "64", pattern: "[A-Za-z0-9._\\-]+", autocomplete: "off" });
      return h("form", { method: "dialog", on: { submit: event => { event.preventDefault(); close(input.value.trim()); } } },
        field("Name", input, "Rooms select the layout by this name."),
        h("div", { class: "row end" }, h("button", { type: "button", on: { click: () => close() } }, "Cancel"), h("button", { class: "primary" }, "Create layout")));
    });
    if (name) location.hash = `#/layouts/${part(name)}`;
  }
}
