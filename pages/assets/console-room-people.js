// The participants of a room: their streams, pictures and levels, and the operator's controls for them.
import { part } from "./console-api.js";
import { h } from "./console-dom.js";
import { repeat } from "./console-feed.js";
import { actionButton, panel, pill, problemBox } from "./console-ui.js";
import { decibels, loudness } from "./console-words.js";

const STATES = {
  connecting: "connecting", live: "live", stalled: "stalled: no data", recovering: "reconnecting", failed: "failed",
};
/** The interval at which the levels are read, in ms. */
const LEVELS = 1000;

export class PeoplePanel {
  /** Levels by source. @type {Map<string, { peak?: number, rms?: number }>} */
  #levels = new Map();
  #program = {};

  /** @param {import("./console-room.js").RoomView} view */
  constructor(view) { this.view = view; }

  open() { repeat(signal => this.#read(signal), LEVELS, this.view.signal); }

  async #read(signal) {
    if (document.hidden || !this.view.room?.task?.onAir) return;
    const found = await this.view.api.levels(this.view.task, { signal });
    if (signal.aborted) return;
    this.#levels = new Map((found?.sources ?? []).map(source => [source.id, source]));
    this.#program = found?.program ?? {};
    this.view.draw();
  }

  /** Returns the level meter of the program. */
  program() { return this.view.room.task?.onAir ? meter("Program", this.#program) : null; }

  draw() {
    const { room } = this.view, people = room.participants;
    const sources = new Map((room.task?.sources ?? []).map(source => [source.id, source]));
    const away = (room.controls ?? []).filter(({ user }) => !people.some(person => person.user === user));
    return panel(`Participants (${people.length})`, { id: "people" },
      people.length ? h("ul", { class: "list" }, people.map(person => this.#row(person, sources)))
        : h("p", { class: "empty" }, "No participants yet. Anyone who publishes to this room appears here."),
      away.length ? [
        h("h3", null, "Away, settings kept"),
        h("ul", { class: "list" }, away.map(control => h("li", { key: control.user },
          h("div", { class: "row" }, h("strong", { class: "grow" }, control.user), words(control).map(word => pill(word)),
            this.#button(control.user, "reset", "Reset", { muted: null, gain: null, hidden: null })),
          problemBox(this.view.problems.get(`reset ${control.user}`))))),
      ] : null);
  }

  #row(person, sources) {
    const { view } = this, { room } = view, { user, muted, gain, hidden } = person;
    const isHost = (room.task?.host ?? room.host) === user, isSeen = room.task?.onAir && !hidden && person.streams.some(stream => stream.video);
    const name = person.name ?? user, slider = `gain-${user}`;
    return h("li", { key: user, class: hidden ? "hidden-person" : null },
      h("div", { class: "row" },
        isSeen ? view.pictures.draw(`${view.task}/participants/${part(user)}.jpg`, `Picture of ${name}`)
          : h("span", { class: "avatar", "aria-hidden": "true" }, name.slice(0, 1).toUpperCase()),
        h("div", { class: "grow" }, h("strong", null, name), person.name ? h("span", { class: "quiet" }, ` ${user}`) : null,
          isHost ? h("span", { class: "tag" }, "host") : null, words(person).map(word => h("span", { class: "tag" }, word))),
        person.streams.length ? null : h("span", { class: "quiet small" }, "no stream")),
      person.streams.map(stream => this.#stream(person, stream, sources.get(`${user}/${stream.stream}`))),
      h("div", { class: "steer" },
        this.#button(user, "mute", muted ? "Unmute" : "Mute", { muted: !muted }, muted),
        this.#button(user, "hide", hidden ? "Show" : "Hide", { hidden: !hidden }, hidden),
        h("label", { class: "small", for: slider }, "Gain"),
        h("input", {
          id: slider, type: "range", min: "0", max: "400", step: "5", value: gain, "aria-label": `Gain of ${name} in percent`,
          on: {
            input: event => { event.target.nextElementSibling.textContent = `${event.target.value} %`; },
            change: event => this.#set(user, "gain", { gain: Number(event.target.value) }, `${name}: gain ${event.target.value} %.`),
          },
        }),
        h("output", { class: "figure small", for: slider }, `${gain} %`)),
      ["mute", "hide", "gain"].map(action => problemBox(view.problems.get(`${action} ${user}`))));
  }

  #stream(person, stream, source) {
    const off = [stream.video ? null : "camera off", stream.audio ? null : "microphone off"].filter(Boolean).join(", ");
    const level = source && stream.audio ? meter(`${person.name ?? person.user}, ${stream.stream}`, this.#levels.get(source.id) ?? {}) : null;
    return h("div", { class: "stream", passing: true },
      h("span", null, stream.stream), stream.state ? pill(STATES[stream.state] ?? stream.state, stream.state) : pill("not pulled"),
      source?.usesBackup ? pill("backup", "connecting") : null, off ? h("span", { class: "quiet small" }, off) : null, level,
      h("span", { class: "quiet small url" }, stream.url),
      stream.error ?? source?.error ? h("p", { class: "bad small" }, stream.error ?? source.error) : null,
      source?.poor ? h("p", { class: "warn small" }, source.poor) : null);
  }

  #button(user, action, label, body, pressed) {
    return actionButton(this.view, `${action} ${user}`, label, () => this.#patch(user, body), {
      class: "small", label: `${label} ${user}`, pressed, done: `${label}: ${user}.`,
    });
  }

  #set(user, action, body, done) { return this.view.act(`${action} ${user}`, () => this.view.api.patch(this.#path(user), body), done); }

  async #patch(user, body) {
    await this.view.api.patch(this.#path(user), body);
    await this.view.read();
  }

  #path(user) { return `${this.view.path}/participants/${part(user)}`; }
}

/** Describes a participant's settings, leaving out defaults. @param {{ muted: boolean, gain: number, hidden: boolean }} control */
const words = ({ muted, gain, hidden }) => [muted ? "muted" : null, gain === 100 ? null : `gain ${gain} %`, hidden ? "hidden" : null].filter(Boolean);

/** @param {string} name @param {{ peak?: number, rms?: number }} level */
const meter = (name, level) => h("meter", {
  class: "level", min: "0", max: "1", high: "0.94", value: loudness(level.peak), "aria-label": `Audio level of ${name}`,
  title: decibels(level),
}, decibels(level));
