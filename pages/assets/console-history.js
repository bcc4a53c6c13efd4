// The history of a program: its switches with the measured gaps, and its timeline.
import { h } from "./console-dom.js";
import { Latest } from "./console-feed.js";
import { actionButton, panel, problemBox, run, table } from "./console-ui.js";
import { at, milliseconds, mode, plain, plural } from "./console-words.js";

const STEP = 60;
const HEADS = ["Time", "Switch", "Latency", "Video gap", "Audio gap", "Cause"];
const KINDS = { event: "Event", decision: "Decision", relay: "Relay", splice: "On air", output: "Output" };

/**
 * Groups entries by their first cause: newest group first, and oldest entry first within a group.
 * @param {any[]} entries Newest first.
 */
export function grouped(entries) {
  const groups = new Map();
  for (const entry of entries) {
    const cause = entry.causes[0] ?? `entry ${entry.number}`;
    if (!groups.has(cause)) groups.set(cause, { cause: entry.causes[0], entries: [] });
    groups.get(cause).entries.unshift(entry);
  }
  return [...groups.values()];
}

export class HistoryPanels {
  #switches = [];
  #entries = [];
  #next = null;
  #limit = STEP;
  /** The cause by which the timeline is filtered, if any. */
  #cause = null;
  #reads = new Latest();

  /** @param {import("./console-room.js").RoomView} view */
  constructor(view) { this.view = view; }

  async read() {
    const { view } = this, { signal } = view, isLatest = this.#reads.begin();
    const [switches, timeline] = await Promise.all([
      view.api.get(`${view.task}/switches`, { query: { limit: 50 }, signal }),
      view.api.get(`${view.task}/timeline`, { query: { limit: this.#limit, cause: this.#cause }, signal }),
    ]);
    if (!isLatest()) return;
    this.#switches = switches.data.switches;
    this.#entries = timeline.data.entries;
    this.#next = timeline.data.next ?? null;
  }

  draw() { return h("div", { class: "history" }, this.#drawSwitches(), this.#drawTimeline()); }

  /** The duration of a frame of the program in ms; `null` if it is unknown. */
  get #frame() {
    const { task } = this.view.room, fps = task?.scene?.canvas?.fps;
    return fps ? 1000 / fps : null;
  }

  #drawSwitches() {
    const frame = this.#frame;
    const frames = gap => frame && gap ? ` (${plural(Math.round(gap / frame * 10) / 10, "frame")})` : "";
    return panel("Switches", { id: "switches" },
      this.#switches.length > 1 ? chart(this.#switches) : null,
      this.#switches.length ? table("Switches with measured gaps", HEADS, this.#switches.map(one => h("tr", { key: one.at },
        h("td", null, at(one.at)), h("td", { class: "nowrap" }, one.from ? `${mode(one.from)} → ${mode(one.to)}` : mode(one.to)),
        h("td", { class: "figure" }, milliseconds(one.latencyMs)),
        h("td", { class: "figure" }, one.from ? milliseconds(one.videoGapMs) : "–", one.from ? frames(one.videoGapMs) : ""),
        h("td", { class: "figure" }, milliseconds(one.audioGapMs)), h("td", null, this.#causeButton(plain(one.cause), one.causes[0])))))
        : h("p", { class: "empty" }, "No switches yet."));
  }

  #causeButton(label, cause) {
    if (!cause) return label;
    const isChosen = cause === this.#cause;
    return h("button", {
      type: "button", class: "link", "aria-pressed": String(isChosen), on: { click: () => this.#filter(isChosen ? null : cause) },
    }, label);
  }

  #filter(cause) {
    this.#cause = cause;
    this.#limit = STEP;
    return run(this.view, "timeline", () => this.read(), cause ? "Timeline filtered by one cause." : "Timeline shows all entries.");
  }

  #drawTimeline() {
    const { view } = this;
    return panel("Timeline", {
      id: "timeline", actions: this.#cause ? h("button", { type: "button", class: "small", on: { click: () => this.#filter(null) } }, "Show all") : null,
    },
    problemBox(view.problems.get("timeline")),
    this.#entries.length ? h("ol", { class: "timeline" }, grouped(this.#entries).map(group => this.#group(group))) : h("p", { class: "empty" }, "No entries yet."),
    this.#next ? actionButton(view, "timeline", "Show older entries", async () => { this.#limit = Math.min(1000, this.#limit + 2 * STEP); await this.read(); }) : null);
  }

  #group({ cause, entries }) {
    const first = entries[0], title = plain(first.kind === "event" ? first.message : first.cause ?? first.message);
    const rest = entries.filter(entry => entry.kind !== "event" || entry !== first);
    return h("li", { key: `${cause ?? first.number}` },
      h("div", { class: "row" }, h("time", { class: "quiet small", datetime: first.at }, at(first.at)), h("strong", { class: "grow" }, this.#causeButton(title, cause))),
      rest.length ? h("ul", null, rest.map(entry => h("li", { key: entry.number, class: entry.kind },
        h("span", { class: "kind" }, KINDS[entry.kind] ?? entry.kind), " ", plain(entry.message)))) : null);
  }
}

/** Draws the latency and video gap of each switch, oldest on the left. @param {any[]} switches Newest first. */
function chart(switches) {
  const list = [...switches].reverse().slice(-30), width = 600, height = 96, step = width / list.length;
  const most = (key, least) => Math.max(least, ...list.map(one => one[key] ?? 0));
  const latency = most("latencyMs", 100), gap = most("videoGapMs", 50), bar = Math.min(14, step / 3);
  const bars = (key, top, name, offset) => list.map((one, index) => {
    const size = (one[key] ?? 0) / top * (height - 20);
    return h("rect", { class: name, x: (index + 0.5) * step + offset, y: height - size, width: bar, height: Math.max(1, size), rx: 2 },
      h("title", null, `${at(one.at)}: ${name} ${milliseconds(one[key])}`));
  });
  const summary = `The last ${list.length} switches. Longest latency ${milliseconds(latency)}, longest video gap ${milliseconds(gap)}.`;
  return h("figure", { class: "chart" },
    h("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": summary, preserveAspectRatio: "none" },
      h("line", { x1: 0, x2: width, y1: height - 0.5, y2: height - 0.5, class: "axis" }),
      bars("latencyMs", latency, "latency", -bar - 1), bars("videoGapMs", gap, "gap", 1)),
    h("figcaption", { class: "quiet small row" }, h("span", { class: "key latency" }, `Latency, up to ${milliseconds(latency)}`),
      h("span", { class: "key gap" }, `Video gap, up to ${milliseconds(gap)}`)));
}
