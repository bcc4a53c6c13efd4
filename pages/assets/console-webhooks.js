// The list of webhook subscriptions.
import { part } from "./console-api.js";
import { h, render } from "./console-dom.js";
import { repeat } from "./console-feed.js";
import { secretDialog } from "./console-webhook.js";
import { field, pill, problemBox, run } from "./console-ui.js";
import { at } from "./console-words.js";

const KINDS = { own: "webhook", roomEvents: "ApsaraVideo room events", taskEvents: "ApsaraVideo task events" };
const words = text => text.split(/[\s,]+/).filter(Boolean);

export class WebhooksView {
  problems = new Map();
  #abort = new AbortController();
  #list = null;
  #problem = null;

  constructor({ api, root }) { Object.assign(this, { api, root }); }

  open() {
    this.draw();
    repeat(signal => this.#read(signal), 4000, this.#abort.signal);
  }

  close() { this.#abort.abort(); }

  async #read(signal) {
    try {
      const { data } = await this.api.get("/v1/subscriptions", { signal });
      // The list does not contain delivery states. An app has at most 20 subscriptions of its own.
      this.#list = await Promise.all(data.subscriptions.slice(0, 40).map(async one =>
        (await this.api.get(`/v1/subscriptions/${part(one.id)}`, { signal })).data));
      this.#problem = null;
    } catch (error) {
      if (signal.aborted) return;
      this.#problem = error;
      throw error;
    } finally {
      if (!signal.aborted) this.draw();
    }
  }

  draw() {
    if (this.#abort.signal.aborted) return;
    render(this.root,
      h("div", { class: "title-row" }, h("h1", null, "Webhooks")),
      this.#problem?.isLost ? null : problemBox(this.#problem),
      this.#list && !this.#list.length ? h("p", { class: "empty" }, "No webhooks yet. Add one below to be notified of events.") : null,
      this.#list ? h("ul", { class: "cards wide-cards" }, this.#list.map(card)) : h("p", { class: "empty", role: "status" }, "Loading webhooks…"),
      h("details", { class: "more panel" }, h("summary", null, "Add a webhook"),
        h("form", { class: "form", on: { submit: event => { event.preventDefault(); this.#add(event.target); } } },
          field("URL", h("input", { id: "hook-url", type: "url", required: true, maxlength: "2048", autocomplete: "off", placeholder: "https://app.example/hooks" })),
          field("Events", h("input", { id: "hook-events", placeholder: "all", autocomplete: "off" }), "For example stream.* task.switched output.stateChanged"),
          field("Rooms", h("input", { id: "hook-rooms", placeholder: "all", autocomplete: "off" })),
          field("Note", h("input", { id: "hook-note", maxlength: "64", autocomplete: "off" })),
          problemBox(this.problems.get("add")),
          h("div", { class: "row end" }, h("button", { class: "primary" }, "Add webhook")))));
  }

  #add(form) {
    const value = id => form.querySelector(`#${id}`).value.trim(), events = words(value("hook-events")), rooms = words(value("hook-rooms"));
    return run(this, "add", async () => {
      const { data } = await this.api.call("POST", "/v1/subscriptions", {
        body: { url: value("hook-url"), events: events.length ? events : null, rooms: rooms.length ? rooms : null, note: value("hook-note") || null },
      });
      form.reset();
      form.closest("details").open = false;
      await secretDialog(data.secret);
      location.hash = `#/webhooks/${part(data.id)}`;
    });
  }
}

function card(one) {
  return h("li", { class: "card", key: one.id },
    h("div", { class: "row" }, h("a", { class: "card-link grow", href: `#/webhooks/${part(one.id)}` }, h("span", { class: "card-name url" }, one.url)),
      pill(one.enabled ? one.delivery.state : "paused", one.enabled ? one.delivery.state : "")),
    one.note ? h("p", null, one.note) : null,
    h("p", { class: "quiet small" }, [
      KINDS[one.kind], one.events ? one.events.join(", ") : "all events", one.rooms ? `rooms ${one.rooms.join(", ")}` : "all rooms", `created ${at(one.createdAt)}`,
    ].join(" · ")),
    h("p", { class: "small" }, `${one.delivery.waiting} waiting, `, h("span", { class: one.delivery.dead ? "bad" : null }, `${one.delivery.dead} dead letters`)));
}
