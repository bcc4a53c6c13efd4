// The view of one webhook: its deliveries, redelivery, and its secret.
import { part } from "./console-api.js";
import { announce, confirmed, dialog, h, render } from "./console-dom.js";
import { Latest, repeat } from "./console-feed.js";
import { actionButton, facts, panel, pill, problemBox, run, select, table, trail } from "./console-ui.js";
import { at, plural } from "./console-words.js";

/** @param {string} text @param {Element} button Shows the result. */
async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    // The clipboard is available only over HTTPS.
    button.textContent = "Copying failed: select the secret and copy it";
  }
  announce(button.textContent);
}

/** Shows a secret, which cannot be read again. @param {string} secret */
export const secretDialog = secret => dialog("Signing secret", close => [
  h("p", null, "The receiver verifies signatures with this secret (Standard Webhooks). Copy it now: it is not shown again."),
  h("output", { class: "secret", tabindex: "0" }, secret),
  h("div", { class: "row end" },
    h("button", { type: "button", on: { click: event => copy(secret, event.target) } }, "Copy"),
    h("button", { type: "button", class: "primary", on: { click: () => close() } }, "Done")),
]);

const STATES = [["", "All"], ["waiting", "Waiting"], ["delivered", "Delivered"], ["dead", "Dead letters"]];

export class WebhookView {
  problems = new Map();
  #abort = new AbortController();
  #one = null;
  #etag = null;
  #deliveries = [];
  #limit = 50;
  #state = "";
  #problem = null;
  #reads = new Latest();

  constructor({ api, root, name }) { Object.assign(this, { api, root, name, path: `/v1/subscriptions/${part(name)}` }); }

  open() {
    this.draw();
    repeat(() => this.#read(), 3000, this.#abort.signal);
  }

  close() { this.#abort.abort(); }

  async #read() {
    const { signal } = this.#abort, isLatest = this.#reads.begin();
    try {
      const [one, list] = await Promise.all([
        this.api.get(this.path, { signal }), this.api.get(`${this.path}/deliveries`, { query: { limit: this.#limit, state: this.#state }, signal }),
      ]);
      if (!isLatest()) return;
      this.#one = one.data;
      this.#etag = one.etag;
      this.#deliveries = list.data.deliveries;
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
    const one = this.#one;
    if (this.#abort.signal.aborted) return;
    if (!one) {
      return render(this.root, h("h1", null, "Webhook"), this.#problem?.isLost ? null : problemBox(this.#problem),
        h("p", null, h("a", { href: "#/webhooks" }, "All webhooks")));
    }
    const button = (id, label, action, options) => actionButton(this, id, label, async () => { await action(); await this.#read(); }, options);
    const isOwn = one.kind === "own";
    render(this.root,
      trail("Webhooks", "#/webhooks", one.note ?? one.id),
      h("div", { class: "title-row" }, h("h1", { class: "url" }, one.url), pill(one.enabled ? one.delivery.state : "paused", one.enabled ? one.delivery.state : ""),
        h("div", { class: "row push" },
          button("test", "Send test message", () => this.api.call("POST", `${this.path}/test`), { done: "Test message queued." }),
          isOwn ? button("pause", one.enabled ? "Pause" : "Resume", () => this.api.patch(this.path, { enabled: !one.enabled }, this.#etag)) : null,
          isOwn ? button("secret", "New secret", () => this.#rotate()) : null,
          isOwn ? button("delete", "Delete", () => this.#delete(), { class: "danger-text" }) : null)),
      ["test", "pause", "secret", "delete"].map(id => problemBox(this.problems.get(id))),
      panel("Subscription", { id: "what" }, facts([
        ["Events", one.events ? one.events.join(", ") : "all"], ["Rooms", one.rooms ? one.rooms.join(", ") : "all"], ["Participants", one.users ? one.users.join(", ") : "all"],
        ["Note", one.note], ["Created", at(one.createdAt)], ["Old secret valid until", one.previousSecretUntil ? at(one.previousSecretUntil) : null],
        ["Waiting", plural(one.delivery.waiting, "message")], ["Dead letters", String(one.delivery.dead)],
      ])),
      panel("Deliveries", {
        id: "deliveries", actions: [
          h("label", { class: "unseen", for: "delivery-state" }, "Show"),
          select("delivery-state", STATES, this.#state, value => { this.#state = value; run(this, "all", () => this.#read()); }),
          button("all", `Resend ${plural(one.delivery.dead, "dead letter")}`, () => this.api.call("POST", `${this.path}/redeliver`),
            { disabled: !one.delivery.dead, done: "Dead letters queued." }),
        ],
      },
      problemBox(this.problems.get("all")),
      this.#deliveries.length ? table("Deliveries", ["Queued", "Event", "State", "Attempts", "Last response", ""], this.#deliveries.map(message => this.#row(message)))
        : h("p", { class: "empty" }, "No messages in the last seven days."),
      this.#deliveries.length >= this.#limit && this.#limit < 1000 ? button("more", "Show more", async () => { this.#limit = Math.min(1000, this.#limit * 3); }) : null));
  }

  #row(message) {
    const last = message.lastAttempt, id = `message-${message.id}`;
    return h("tr", { key: message.id },
      h("td", null, at(message.queuedAt)), h("th", { scope: "row" }, message.event, message.room ? h("span", { class: "quiet" }, ` ${message.room}`) : null),
      h("td", null, pill(message.state)), h("td", { class: "figure" }, String(message.attempts)),
      h("td", null, last ? `${last.code ?? last.error ?? "no response"}, ${last.milliseconds} ms` : "–",
        message.nextAttemptAt ? h("span", { class: "quiet small" }, ` next attempt ${at(message.nextAttemptAt)}`) : null, problemBox(this.problems.get(id))),
      h("td", { class: "row end" },
        actionButton(this, `${id}-log`, "Attempts", () => this.#attempts(message), { class: "small", label: `Attempts of ${message.event}, ${at(message.queuedAt)}` }),
        message.state === "waiting" ? null : actionButton(this, id, "Resend", async () => {
          await this.api.call("POST", `${this.path}/deliveries/${part(message.id)}/redeliver`);
          await this.#read();
        }, { class: "small", label: `Resend ${message.event}, ${at(message.queuedAt)}` })));
  }

  async #attempts(message) {
    const { data } = await this.api.get(`${this.path}/deliveries/${part(message.id)}`);
    await dialog(message.event, close => [
      data.log?.length ? table("Attempts", ["", "Time", "Response", "Duration"], data.log.map(one => h("tr", null,
        h("th", { scope: "row" }, String(one.number)), h("td", null, at(one.at)),
        h("td", null, String(one.code ?? one.error ?? "no response")), h("td", { class: "figure" }, `${one.milliseconds} ms`))))
        : h("p", { class: "empty" }, "No attempts yet."),
      h("h3", null, "Body"), h("pre", { class: "body", tabindex: "0" }, data.body ?? ""),
      h("div", { class: "row end" }, h("button", { type: "button", class: "primary", on: { click: () => close() } }, "Close")),
    ], { wide: true });
  }

  async #rotate() {
    if (!await confirmed("Create a new secret?", "For one day, messages are signed with both secrets so that the receiver can switch over.", "New secret")) return;
    const { data } = await this.api.call("POST", `${this.path}/secret`, { body: {} });
    await secretDialog(data.secret);
  }

  async #delete() {
    if (!await confirmed("Delete this webhook?", "Messages that are waiting to be delivered are discarded.", "Delete webhook")) return;
    await this.api.call("DELETE", this.path, { etag: this.#etag });
    location.hash = "#/webhooks";
  }
}
