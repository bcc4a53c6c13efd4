// The view of one room: what is on air, and the controls for it.
import "./player.js";
import { part } from "./console-api.js";
import { announce, confirmed, h, render } from "./console-dom.js";
import { follow, Latest, repeat } from "./console-feed.js";
import { HistoryPanels } from "./console-history.js";
import { OutputsPanel } from "./console-room-outputs.js";
import { LOOK, Pictures } from "./console-pictures.js";
import { ChatPanel } from "./console-room-chat.js";
import { FilesPanel } from "./console-room-files.js";
import { ParamsPanel } from "./console-room-params.js";
import { PeoplePanel } from "./console-room-people.js";
import { SettingsPanel } from "./console-room-settings.js";
import { actionButton, pill, problemBox, run, trail } from "./console-ui.js";
import { appOf, pageOf } from "./page-room.js";
import { mode, onAir, plural, since } from "./console-words.js";

/** The time within which successive changes are read together, in ms. */
const TOGETHER = 150;

export class RoomView {
  problems = new Map();
  /** @type {any} The room as the service returns it. */
  room = null;
  /** The entity tag of the room's settings. */
  etag = null;
  #abort = new AbortController();
  #feed = "lost";
  #timer = 0;
  #problem = null;
  #told = "";
  #isDeleted = false;
  /** Whether the service has said that the room does not exist. */
  #isAbsent = false;
  /** Whether the operator had paused the preview when the page was hidden. */
  #isPaused = false;
  #reads = new Latest();

  constructor({ api, root, name }) {
    Object.assign(this, { api, root, name, path: `/v1/rooms/${part(name)}`, task: `/v1/tasks/${part(`auto-${name}`)}` });
    this.pictures = new Pictures(api);
    this.people = new PeoplePanel(this);
    this.chat = new ChatPanel(this);
    this.outputs = new OutputsPanel(this);
    this.files = new FilesPanel(this);
    this.params = new ParamsPanel(this);
    this.settings = new SettingsPanel(this);
    this.history = new HistoryPanels(this);
  }

  get signal() { return this.#abort.signal; }

  open() {
    this.draw();
    const { signal } = this;
    // Values that have no events, such as bytes and viewers, are read at intervals.
    repeat(() => this.read(), 5000, signal);
    repeat(() => this.files.read(), 10000, signal);
    repeat(() => this.settings.readLayouts(), 10000, signal);
    repeat(async () => { if (await this.pictures.read(signal)) this.draw(); }, LOOK, signal);
    this.people.open();
    this.chat.open();
    this.#follow();
    document.addEventListener("visibilitychange", () => this.#rest(), { signal });
  }

  close() {
    this.#abort.abort();
    this.pictures.close();
    clearTimeout(this.#timer);
  }

  /** Follows the room's changes until the room does not exist. */
  #follow() {
    follow(this.api, `${this.path}/feed`, {
      signal: this.signal,
      onEvent: () => this.readSoon(),
      onState: state => {
        this.#feed = state;
        this.#isAbsent ||= state === "gone";
        this.readSoon();
        this.draw();
      },
    });
  }

  /** Follows a room again that exists now: it was created, or the service restored it. */
  #followAgain() {
    if (!this.#isAbsent) return;
    this.#isAbsent = false;
    if (this.#feed === "gone") {
      this.#feed = "lost";
      this.#follow();
    }
    this.chat.openAgain();
  }

  /** Closes the preview's connection while the page is hidden. */
  #rest() {
    const player = this.root.querySelector("co-stream-player");
    if (document.hidden && player) {
      this.#isPaused = player.state === "paused";
      player.pause();
    } else if (!this.#isPaused) player?.play();
  }

  hasChanges() { return !this.#isDeleted && (this.settings.isChanged || this.params.isChanged); }
  mayLeave() { return !this.hasChanges() || confirm("This room has changes that are not applied. Discard them?"); }

  readSoon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.read().catch(() => { /* shown, and retried */ }), TOGETHER);
  }

  /** Reads the room and its history. */
  async read() {
    const { signal } = this;
    if (signal.aborted) return;
    const isLatest = this.#reads.begin();
    try {
      const { data, etag } = await this.api.get(this.path, { signal });
      if (!isLatest()) return;
      Object.assign(this, { room: data, etag });
      this.#problem = null;
      this.#followAgain();
      this.#tell();
      await this.params.read();
      if (data.task) await this.history.read();
    } catch (error) {
      if (signal.aborted) return;
      if (isLatest()) this.#problem = error;
      throw error;
    } finally {
      if (!signal.aborted) this.draw();
    }
  }

  /** Announces changes on air to screen readers. */
  #tell() {
    const now = onAir(this.room);
    if (this.#told && this.#told !== now) announce(`${this.name}: ${now}`);
    this.#told = now;
  }

  draw() {
    const { room } = this;
    if (this.signal.aborted) return;
    this.pictures.begin();
    if (!room) {
      return render(this.root, h("h1", null, this.name), this.#problem?.isLost ? null : problemBox(this.#problem),
        this.#problem ? h("p", null, h("a", { href: "#/rooms" }, "All rooms"))
          : h("p", { class: "empty", role: "status" }, "Loading room…"));
    }
    render(this.root,
      trail("Rooms", "#/rooms", this.name),
      h("div", { class: "title-row" }, h("h1", null, this.name),
        room.task?.onAir ? h("span", { class: `air big ${room.task.onAir}` }, mode(room.task.onAir)) : h("span", { class: "air big" }, "Off air"),
        room.open ? null : pill("closed"),
        this.#feed === "lost" ? h("span", { class: "pill busy", role: "status", passing: true }, "Connection lost, reconnecting…") : null,
        this.#feed === "gone" ? pill("The room no longer exists", "failed") : null,
        h("div", { class: "row push" },
          h("a", { class: "button", href: pageOf("watch", { root: this.api.root, room: this.name, app: appOf(room.playback.flv) }), target: "_blank", rel: "noopener" }, "Watch page"),
          actionButton(this, "close", "Close room", () => this.#closeRoom(), { disabled: !room.open }),
          actionButton(this, "delete", "Delete", () => this.#delete(), { class: "danger-text" }))),
      this.#problem && !this.#problem.isLost ? problemBox(this.#problem) : null,
      problemBox(this.problems.get("close")), problemBox(this.problems.get("delete")),
      h("div", { class: "room" },
        h("div", { class: "column stage-column", key: "stage" }, this.#stage(), this.people.draw(), this.chat.draw(), this.files.draw()),
        h("div", { class: "column", key: "work" }, this.params.draw(), this.outputs.draw(), this.settings.draw())),
      this.history.draw());
  }

  #stage() {
    const { task, playback, viewers } = this.room;
    const last = task?.switches?.[0];
    const canvas = task?.scene?.canvas;
    return h("section", { class: "panel stage", "aria-labelledby": "on-air", key: "on-air" },
      task?.onAir
        ? h("co-stream-player", { key: "preview", class: "preview", src: this.api.url(playback.flv), muted: true, controls: true, keep: true, "aria-label": "Live preview, muted" })
        : h("div", { class: "preview none", key: "none" }, "Nothing on air"),
      h("div", { class: "stage-words" },
        h("h2", { id: "on-air" }, "On air"),
        h("p", { class: "sentence" }, onAir(this.room)), this.people.program(),
        h("p", { class: "quiet small" }, [
          task?.onAir && last?.to === task.onAir ? `for ${since(last.at)}` : null, `${plural(viewers, "viewer")}${task?.onAir ? " including this preview" : ""}`,
          canvas ? `${canvas.width}×${canvas.height}, ${canvas.fps} frames per second` : null,
          task?.passthrough?.reason && task.onAir !== "bypass" ? `not copied: ${task.passthrough.reason}` : null,
        ].filter(Boolean).join(" · "))));
  }

  async #closeRoom() {
    const isSure = await confirmed(`Close ${this.name}?`,
      "All participants leave and the program ends. The room and its settings are kept; it reopens with the next stream.", "Close room");
    if (!isSure) return;
    await this.api.call("POST", `${this.path}/events`, { body: { type: "room.closed" } });
    await this.read();
  }

  async #delete() {
    const isSure = await confirmed(`Delete ${this.name}?`, "The program ends and the room’s settings are deleted. Recordings are kept.", "Delete room");
    if (!isSure) return;
    await this.api.call("DELETE", this.path);
    this.#isDeleted = true;
    announce(`${this.name} was deleted.`);
    location.hash = "#/rooms";
  }

  /** Runs an action and then reads the room. */
  act(id, action, done) {
    return run(this, id, async () => { await action(); await this.read(); }, done);
  }
}
