// The list of rooms.
import { part } from "./console-api.js";
import { dialog, h, render } from "./console-dom.js";
import { LOOK, Pictures } from "./console-pictures.js";
import { Latest, repeat } from "./console-feed.js";
import { actionButton, field, pill, problemBox, run } from "./console-ui.js";
import { mode, plural } from "./console-words.js";

const STEP = 100;

export class RoomsView {
  problems = new Map();
  #abort = new AbortController();
  #rooms = null;
  #next = null;
  #limit = STEP;
  #filter = { text: "", state: "" };
  #problem = null;
  #reads = new Latest();

  constructor({ api, root }) { Object.assign(this, { api, root, pictures: new Pictures(api) }); }

  open() {
    this.draw();
    repeat(signal => this.#read(signal), 2000, this.#abort.signal);
    repeat(async signal => { if (await this.pictures.read(signal)) this.draw(); }, LOOK, this.#abort.signal);
  }

  close() {
    this.#abort.abort();
    this.pictures.close();
  }

  async #read(signal) {
    const isLatest = this.#reads.begin();
    try {
      const rooms = [];
      let after = null;
      do {
        const { data } = await this.api.get("/v1/rooms", { query: { limit: STEP, after, state: this.#filter.state }, signal });
        rooms.push(...data.rooms);
        after = data.next ?? null;
      } while (after && rooms.length < this.#limit);
      if (!isLatest()) return;
      this.#rooms = rooms;
      this.#next = after;
      this.#problem = null;
    } catch (error) {
      if (signal.aborted) return;
      if (isLatest()) this.#problem = error;
      throw error;
    } finally {
      if (!signal.aborted) this.draw();
    }
  }

  draw() {
    if (this.#abort.signal.aborted) return;
    this.pictures.begin();
    const words = this.#filter.text.toLowerCase();
    const shown = (this.#rooms ?? []).filter(room => !words || room.id.toLowerCase().includes(words)
      || room.participants.some(({ user, name }) => `${user} ${name ?? ""}`.toLowerCase().includes(words)));
    const onAir = (this.#rooms ?? []).filter(room => room.task?.onAir).length;
    render(this.root,
      h("div", { class: "title-row" }, h("h1", null, "Rooms"),
        h("p", { class: "quiet" }, this.#rooms ? `${plural(this.#rooms.length, "room")}${this.#next ? " and more" : ""}, ${onAir} on air` : ""),
        h("button", { type: "button", class: "primary push", on: { click: () => this.#make() } }, "New room")),
      h("form", { class: "bar", role: "search", on: { submit: event => event.preventDefault() } },
        h("label", { class: "unseen", for: "room-search" }, "Search rooms and participants"),
        h("input", {
          id: "room-search", type: "search", placeholder: "Search rooms and participants",
          on: { input: event => { this.#filter.text = event.target.value; this.draw(); } },
        }),
        h("label", { class: "unseen", for: "room-state" }, "State"),
        h("select", { id: "room-state", on: { change: event => this.#show(event.target.value) } },
          [["", "Open and closed"], ["open", "Open"], ["closed", "Closed"]].map(([value, label]) => h("option", { value }, label)))),
      this.#problem?.isLost ? null : problemBox(this.#problem), problemBox(this.problems.get("more")),
      this.#rooms && !shown.length ? h("p", { class: "empty" },
        words ? "No matching rooms or participants." : "There are no rooms yet. Publish to a room, or create one.") : null,
      this.#rooms ? h("ul", { class: "cards" }, shown.map(room => card(room, this.pictures))) : h("p", { class: "empty", role: "status" }, "Loading rooms…"),
      this.#next ? actionButton(this, "more", "Show more rooms", async () => { this.#limit += STEP; await this.#read(this.#abort.signal); }) : null);
  }

  #show(state) {
    this.#filter.state = state;
    run(this, "more", () => this.#read(this.#abort.signal));
  }

  async #make() {
    const name = await dialog("New room", close => {
      const input = h("input", { id: "new-room", required: true, maxlength: "128", autocomplete: "off" });
      return h("form", { method: "dialog", on: { submit: event => { event.preventDefault(); close(input.value.trim()); } } },
        field("Name", input, "Participants publish and viewers watch under this name."),
        h("div", { class: "row end" }, h("button", { type: "button", on: { click: () => close() } }, "Cancel"), h("button", { class: "primary" }, "Create room")));
    });
    if (!name) return;
    await run(this, "more", async () => {
      await this.api.call("PUT", `/v1/rooms/${part(name)}`, { body: {}, absent: true });
      location.hash = `#/rooms/${part(name)}`;
    });
  }
}

/** Describes the health of a room's outputs. */
function health(room) {
  const outputs = room.task?.outputs ?? [];
  if (!outputs.length) return room.outputs.length ? `${plural(room.outputs.length, "output")}, not started` : "No outputs";
  const live = outputs.filter(output => output.state === "live").length;
  return live === outputs.length ? `${plural(live, "output")} live` : `${live} of ${plural(outputs.length, "output")} live`;
}

function card(room, pictures) {
  const onAir = room.task?.onAir, failing = room.task?.outputs.some(output => output.state !== "live");
  const people = room.participants.map(person => person.name ?? person.user);
  return h("li", { class: `card ${onAir ?? "off"}`, key: room.id },
    onAir ? pictures.draw(`/v1/tasks/${part(`auto-${room.id}`)}/thumbnail.jpg`, `Program of ${room.id}`, "wide") : null,
    h("a", { class: "card-link", href: `#/rooms/${part(room.id)}` }, h("span", { class: "card-name" }, room.id)),
    h("div", { class: "row" }, onAir ? h("span", { class: `air ${onAir}` }, mode(onAir)) : h("span", { class: "air" }, "Off air"),
      room.open ? null : pill("closed"), room.recording.running ? h("span", { class: "pill rec" }, "Recording") : null,
      room.recording.error ? pill("Recording failed", "failed") : null,
      room.task?.degradation ? pill("Reduced frame rate", "recovering") : null),
    h("p", { class: "people" }, people.length ? people.slice(0, 6).join(", ") + (people.length > 6 ? ` and ${people.length - 6} more` : "") : "No participants"),
    h("p", { class: "quiet small" }, `${plural(room.participants.length, "participant")} · ${plural(room.viewers, "viewer")} · `,
      h("span", { class: failing ? "warn" : null }, health(room))));
}
