// Viewers' comments in the room's channel, and their moderation. docs/channel.md describes the events.
import { part, Problem } from "./console-api.js";
import { announce, h } from "./console-dom.js";
import { follow } from "./console-feed.js";
import { actionButton, conflict, field, panel, pill, problemBox, run } from "./console-ui.js";
import { at, plural } from "./console-words.js";

/** Most comments that are shown; older ones are removed. */
const MOST = 60;
const LABELS = { slowMode: "Slow mode", words: "Blocked words" };

/** Returns the chat rules as their inputs show them. @param {{ slowMode: number, words: string[] }} rules */
const written = ({ slowMode, words }) => ({ slowMode: String(slowMode), words: words.join("\n") });

/** Returns the value of a rule from its input's text. @param {string} name @param {string} text */
const ruleOf = (name, text) => name === "slowMode" ? Number(text) : text.split("\n").map(word => word.trim()).filter(Boolean);

export class ChatPanel {
  /** @type {any[]} Oldest first. */
  messages = [];
  /** The chat rules and muted users; `null` while they are unknown. */
  #rules = null;
  /** Rules that are not applied yet, as written, and what they were before. */
  #changes = {};
  #seen = {};
  #viewers = 0;
  #state = "lost";

  /** @param {import("./console-room.js").RoomView} view */
  constructor(view) { this.view = view; }

  open() {
    const { view } = this;
    follow(view.api, `${view.path}/channel`, {
      signal: view.signal,
      onEvent: event => this.take(event.name, JSON.parse(event.data)),
      onState: state => { this.#state = state; view.draw(); },
    });
    this.#readRules();
  }

  /** Follows the channel again if it did not exist. */
  openAgain() {
    if (this.#state !== "gone") return;
    this.#state = "lost";
    this.messages = [];
    this.open();
  }

  /** Applies an event of the channel. @param {string} name @param {any} data */
  take(name, data) {
    if (name === "comment" || name === "gift") {
      if (this.messages.some(message => message.id === data.id)) return;
      this.messages = [...this.messages, data].slice(-MOST);
    } else if (name === "deleted") {
      this.messages = this.messages.filter(message => message.id !== data.id);
    } else if (name === "viewers") {
      this.#viewers = data.count;
    } else if (name === "rules") {
      this.#readRules();
    }
    this.view.draw();
  }

  /** Reads the chat rules. A token without the moderator scope sees only comments. */
  async #readRules() {
    try {
      await this.#fetchRules();
    } catch (error) {
      if (!(error instanceof Problem) && !this.view.signal.aborted) throw error;
    }
    if (!this.view.signal.aborted) this.view.draw();
  }

  async #fetchRules() {
    const { api, path, signal } = this.view;
    this.#rules = (await api.get(`${path}/rules`, { signal, quiet: true })).data;
  }

  draw() {
    const { view } = this, muted = new Set((this.#rules?.muted ?? []).map(({ user }) => user));
    if (this.#state === "gone") return null;
    return panel("Comments", { id: "chat", actions: h("span", { class: "quiet small" }, plural(this.#viewers, "viewer")) },
      this.messages.length ? h("div", { class: "comments", role: "region", "aria-label": "Comments, newest first", tabindex: "0" },
        h("ol", { class: "list" }, [...this.messages].reverse().map(message => this.#row(message, muted))))
        : h("p", { class: "empty" }, "No comments yet. While this page is open, it counts as a viewer of the channel."),
      problemBox(view.problems.get("moderate")), this.#drawRules());
  }

  #row(message, muted) {
    const who = message.name ?? message.user ?? "Anonymous";
    const gift = message.kind === "gift" ? `Gift: ${message.gift?.name ?? message.gift?.id ?? "gift"} × ${message.count} ` : "";
    return h("li", { key: message.id },
      h("div", { class: "row" }, h("div", { class: "grow" }, h("bdi", null, h("strong", null, who)), message.user && message.name ? h("span", { class: "quiet small" }, ` ${message.user}`) : null,
        h("span", { class: "quiet small" }, ` ${at(message.sentAt)}`)),
        message.user && !muted.has(message.user) ? this.#button(`silence ${message.id}`, "Mute", `Mute ${message.user} in chat`,
          "PUT", `muted/${part(message.user)}`, {}) : null,
        this.#button(`delete ${message.id}`, "Delete", `Delete comment by ${who}`, "DELETE", `messages/${message.id}`)),
      h("p", { class: "lines" }, gift, h("bdi", null, message.text ?? "")));
  }

  #drawRules() {
    if (!this.#rules) return null;
    const { muted } = this.#rules, { slowMode, words } = { ...written(this.#rules), ...this.#changes };
    const input = name => ({ input: event => this.#change(name, event.target.value) });
    return [
      muted.length ? [h("h3", null, "Muted in chat"), h("ul", { class: "list" }, muted.map(({ user, seconds }) => h("li", { key: user, class: "row" },
        h("span", { class: "grow" }, user), seconds ? pill(`${seconds} s left`) : null,
        this.#button(`unsilence ${user}`, "Unmute", `Unmute ${user} in chat`, "DELETE", `muted/${part(user)}`))))] : null,
      h("details", { class: "more" }, h("summary", null, "Chat rules"),
        h("form", { class: "form", on: { submit: event => { event.preventDefault(); this.#apply(); } } },
          field("Slow mode", h("input", { id: "chat-slow", type: "number", min: "0", max: "3600", value: slowMode, on: input("slowMode") }), "Seconds between two comments by the same viewer; 0 turns it off."),
          field("Blocked words", h("textarea", { id: "chat-words", rows: "4", value: words, on: input("words") }), "One per line."),
          problemBox(this.view.problems.get("rules")),
          h("div", { class: "row end" }, h("button", { class: "primary", disabled: !Object.keys(this.#changes).length }, "Apply rules")))),
    ];
  }

  #button(id, text, label, method, path, body) {
    return actionButton({ ...this.#actions(), draw: () => this.view.draw() }, id, text, async () => {
      await this.view.api.call(method, `${this.view.path}/${path}`, { body });
      await this.#readRules();
    }, { class: "small", label, done: `${label}: done.` });
  }

  /** Problems of all comments are shown in one place. */
  #actions() {
    const { view } = this;
    return {
      busy: view.busy ??= new Set(),
      problems: { delete: () => view.problems.delete("moderate"), set: (_, problem) => view.problems.set("moderate", problem) },
    };
  }

  #change(name, text) {
    const now = written(this.#rules);
    if (text === now[name]) this.#drop(name);
    else {
      this.#seen[name] ??= now[name];
      this.#changes[name] = text;
    }
    this.view.draw();
  }

  #drop(name) {
    delete this.#changes[name];
    delete this.#seen[name];
  }

  /** Sends only the rules that the moderator has changed, after asking if someone else has changed the same ones. */
  #apply() {
    const { view } = this;
    return run(view, "rules", async () => {
      const changes = { ...this.#changes };
      let seen = { ...this.#seen };
      for (;;) {
        // The service takes no condition with rules.
        await this.#fetchRules();
        const now = written(this.#rules), names = Object.keys(changes).filter(name => now[name] !== seen[name]);
        if (!names.length) break;
        const choice = await conflict("Someone else changed these rules", names.map(name => [LABELS[name], now[name], changes[name]]));
        if (choice === "theirs") return names.forEach(name => this.#drop(name));
        if (choice !== "mine") return;
        seen = now;
      }
      const body = Object.fromEntries(Object.entries(changes).map(([name, text]) => [name, ruleOf(name, text)]));
      this.#rules = (await view.api.patch(`${view.path}/rules`, body)).data;
      for (const [name, text] of Object.entries(changes)) {
        if (this.#changes[name] === text) this.#drop(name);
        else if (name in this.#changes) this.#seen[name] = written(this.#rules)[name];
      }
      announce("Chat rules applied.");
    });
  }
}
