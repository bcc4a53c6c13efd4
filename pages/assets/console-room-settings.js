// A room's layout, host, canvas and policy. Changes carry the entity tag of the state that the operator saw.
import { part } from "./console-api.js";
import { announce, h } from "./console-dom.js";
import { conflict, field, panel, picture, problemBox, run, select } from "./console-ui.js";

const BYPASS = [["auto", "Copy their stream without re-encoding (bypass)"], ["never", "Always mix"]];
const LEAVES = [["promote", "The next participant becomes host"], ["slate", "Show the slate"], ["stop", "End the program"]];
const LABELS = { layout: "Layout", host: "Host", bypass: "One participant on air", whenHostLeaves: "When the host leaves", canvas: "Canvas" };

const words = (choices, value) => choices.find(([id]) => id === value)?.[1] ?? value;

/** Returns the settings of this panel as plain values. @param {any} room */
function settingsOf(room) {
  const { canvas } = room;
  return {
    layout: room.layout, host: room.host ?? "", bypass: room.policy.bypass, whenHostLeaves: room.policy.whenHostLeaves,
    canvas: canvas.follows === "host" ? "host" : `${canvas.width}x${canvas.height}@${canvas.fps}`,
  };
}

/** Returns the label of a value. */
function shown(key, value) {
  if (key === "host") return value || "the first to publish";
  if (key === "bypass") return words(BYPASS, value);
  if (key === "whenHostLeaves") return words(LEAVES, value);
  if (key === "canvas" && value === "host") return "size and frame rate of the host’s video";
  return value;
}

/** Returns the merge patch for changed settings. @param {Record<string, string>} changes */
export function patchFor(changes) {
  const patch = {};
  for (const [key, value] of Object.entries(changes)) {
    if (key === "layout") patch.layout = value;
    else if (key === "host") patch.host = value || null;
    else if (key === "canvas") {
      const [, width, height, fps] = /^(\d+)x(\d+)@(\d+)$/.exec(value) ?? [];
      patch.canvas = value === "host" ? "host" : { width: Number(width), height: Number(height), fps: Number(fps), follows: null };
    } else (patch.policy ??= {})[key] = value;
  }
  return patch;
}

export class SettingsPanel {
  /** Changes that are not applied yet, by setting. */
  #changes = {};
  /** The entity tag and settings on which the changes are based. */
  #base = null;
  #layouts = [];
  /** The layouts' pictures by what they show; `null` while one is fetched, and empty if that failed. */
  #pictures = new Map();

  /** @param {import("./console-room.js").RoomView} view */
  constructor(view) { this.view = view; }

  get isChanged() { return Object.keys(this.#changes).length > 0; }

  /** Reads the layouts. The room view reports that the service is unreachable. */
  async readLayouts() {
    const { view } = this, { data } = await view.api.get("/v1/layouts", { signal: view.signal });
    this.#layouts = data.layouts.filter(layout => layout.version || layout.state === "builtIn");
    const isCurrent = key => this.#layouts.some(layout => key.startsWith(`${layout.name} ${layout.version} `));
    for (const [key, svg] of this.#pictures) if (svg === "" || !isCurrent(key)) this.#pictures.delete(key);
    view.draw();
  }

  /** Returns a layout's picture, fetched once for each version, number of participants and canvas. */
  #picture(layout) {
    const { view } = this, { canvas, task, participants } = view.room;
    const size = task?.scene?.canvas ?? canvas, people = Math.min(16, Math.max(2, participants.length));
    const key = `${layout.name} ${layout.version} ${size.width}x${size.height} ${people}`;
    if (!this.#pictures.has(key)) {
      this.#pictures.set(key, null);
      view.api.call("POST", `/v1/layouts/${part(layout.name)}/plan`, {
        query: { participants: people, canvas: `${size.width}x${size.height}` }, accept: "image/svg+xml", signal: view.signal, quiet: true,
      }).then(({ text }) => { this.#pictures.set(key, text); view.draw(); }, () => { this.#pictures.set(key, ""); });
    }
    return this.#pictures.get(key);
  }

  #change(key, value) {
    const { view } = this;
    this.#base ??= { etag: view.etag, settings: settingsOf(view.room) };
    // A request that is under way may be about to change the value that was there.
    if (value === this.#base.settings[key] && !view.busy?.has("settings")) delete this.#changes[key];
    else this.#changes[key] = value;
    if (!this.isChanged) this.#base = null;
    view.draw();
  }

  draw() {
    const { view } = this, values = { ...settingsOf(view.room), ...this.#changes };
    const size = view.room.canvas, users = new Set([...view.room.participants.map(person => person.user), values.host].filter(Boolean));
    return panel("Program settings", { id: "settings" },
      h("form", { class: "form", on: { submit: event => { event.preventDefault(); this.#apply(); } } },
        h("fieldset", null, h("legend", null, "Layout"), h("div", { class: "layouts" }, this.#layouts.map(layout => this.#choice(layout, values.layout)))),
        field("Host", select("set-host", [["", "The first to publish"], ...[...users].map(user => [user, user])], values.host, value => this.#change("host", value)),
          "The program follows the host’s frame timing, audio and colours."),
        field("One participant on air", select("set-bypass", BYPASS, values.bypass, value => this.#change("bypass", value))),
        field("When the host leaves", select("set-leaves", LEAVES, values.whenHostLeaves, value => this.#change("whenHostLeaves", value))),
        field("Canvas", select("set-canvas", [
          ["host", "Same as the host’s video"], ["1280x720@30", "1280×720, 30"], ["1920x1080@30", "1920×1080, 30"], ["720x1280@30", "720×1280, 30"],
          ["1080x1920@30", "1080×1920, 30"], ["720x720@30", "720×720, 30"],
          [`${size.width}x${size.height}@${size.fps}`, `${size.width}×${size.height}, ${size.fps}`],
        ].filter(([value], index, all) => all.findIndex(other => other[0] === value) === index), values.canvas, value => this.#change("canvas", value)), "Size and frames per second"),
        problemBox(view.problems.get("settings")),
        h("div", { class: "row end apply" },
          this.isChanged ? h("span", { class: "quiet grow" }, `Not applied: ${Object.keys(this.#changes).map(key => LABELS[key].toLowerCase()).join(", ")}`) : null,
          h("button", { type: "button", disabled: !this.isChanged, on: { click: () => this.#forget() } }, "Discard"),
          h("button", { class: "primary", disabled: !this.isChanged }, "Apply"))));
  }

  #choice(layout, value) {
    const svg = this.#picture(layout), id = `layout-${layout.name}`;
    return h("label", { class: `layout ${layout.name === value ? "chosen" : ""}`, for: id, key: layout.name, title: layout.summary },
      h("input", { type: "radio", name: "layout", id, checked: layout.name === value, on: { change: () => this.#change("layout", layout.name) } }),
      svg ? picture(svg, "") : h("span", { class: "blank" }),
      h("span", { class: "layout-name" }, layout.name), layout.state === "good" || layout.state === "builtIn" ? null : h("span", { class: "warn small" }, layout.state));
  }

  #forget() {
    this.#changes = {};
    this.#base = null;
    this.view.problems.delete("settings");
    this.view.draw();
  }

  #apply() {
    const { view } = this;
    return run(view, "settings", async () => {
      const changes = { ...this.#changes };
      let { etag, settings: seen } = this.#base, applied;
      for (;;) {
        try {
          applied = await view.api.patch(view.path, patchFor(changes), etag);
          break;
        } catch (error) {
          if (!error.isConflict) throw error;
          await view.read();
          const theirs = settingsOf(view.room);
          etag = view.etag;
          // The tag also changes with settings that are not of this panel, such as layout values.
          if (Object.keys(theirs).every(key => theirs[key] === seen[key])) continue;
          const choice = await conflict(`Someone else changed ${view.name}`, Object.keys(theirs)
            .filter(key => key in changes || theirs[key] !== seen[key])
            .map(key => [LABELS[key], shown(key, theirs[key]), shown(key, key in changes ? changes[key] : theirs[key])]));
          if (choice === "theirs") return this.#forget();
          if (choice !== "mine") return;
          seen = theirs;
        }
      }
      // Changes that were made meanwhile stay.
      const settings = settingsOf(applied.data);
      for (const [key, value] of Object.entries(this.#changes)) {
        if (value === changes[key] || value === settings[key]) delete this.#changes[key];
      }
      this.#base = this.isChanged ? { etag: applied.etag, settings } : null;
      announce("Settings applied.");
      await view.read();
    });
  }
}
