// The outputs of a room.
import { part } from "./console-api.js";
import { confirmed, h } from "./console-dom.js";
import { actionButton, field, panel, pill, problemBox } from "./console-ui.js";
import { bytes, plural, since } from "./console-words.js";

export class OutputsPanel {
  /** @param {import("./console-room.js").RoomView} view */
  constructor(view) { this.view = view; }

  draw() {
    const { room, problems } = this.view;
    const running = new Map((room.task?.outputs ?? []).map(output => [output.id, output]));
    const outputs = room.outputs.map(output => running.get(output.id) ?? output);
    return panel(`Outputs (${outputs.length})`, { id: "outputs" },
      outputs.length ? h("ul", { class: "list" }, outputs.map(output => this.#row(output)))
        : h("p", { class: "empty" }, "No outputs. Viewers can still watch the program from this service."),
      h("details", { class: "more" }, h("summary", null, "Add an output"),
        h("form", { class: "form", on: { submit: event => { event.preventDefault(); this.#add(event.target); } } },
          field("Name", h("input", { id: "output-id", required: true, maxlength: "128", autocomplete: "off" })),
          field("URL", h("input", { id: "output-url", required: true, maxlength: "2048", autocomplete: "off", placeholder: "rtmp://host/app/key" }),
            "rtmp, rtmps, srt or whip. {room} stands for the room’s name. The key is not shown again."),
          field("Give up after", h("input", { id: "output-attempts", type: "number", min: "1", max: "10000", placeholder: "never" }), "failed attempts in a row"),
          problemBox(problems.get("add")),
          h("div", { class: "row end" }, h("button", { class: "primary" }, "Add output")))));
  }

  #row(output) {
    const { view } = this, id = `output-${output.id}`;
    return h("li", { key: output.id },
      h("div", { class: "row" }, h("strong", { class: "grow" }, output.id), output.state ? pill(output.state) : pill("not started"),
        actionButton(view, id, "Remove", () => this.#remove(output.id), { class: "small danger-text", label: `Remove ${output.id}` })),
      h("p", { class: "quiet small url" }, output.url),
      output.state ? h("p", { class: "quiet small" }, [
        output.connectedSince && output.state === "live" ? `connected for ${since(output.connectedSince)}` : null,
        plural(output.reconnects, "reconnect"), `${bytes(output.bytesSent)} sent`,
        output.droppedFrames ? `${plural(output.droppedFrames, "frame")} dropped` : null,
      ].filter(Boolean).join(" · ")) : null,
      output.lastError ? h("p", { class: `small ${output.state === "live" ? "quiet" : "bad"}` },
        output.state === "live" ? "Last error: " : "", output.lastError, output.lastErrorCode ? h("code", null, ` ${output.lastErrorCode}`) : null) : null,
      problemBox(view.problems.get(id)));
  }

  async #add(form) {
    const { view } = this, value = id => form.querySelector(`#${id}`).value.trim();
    const attempts = Number(value("output-attempts"));
    const output = { id: value("output-id"), url: value("output-url"), ...attempts ? { retry: { maxAttempts: attempts } } : {} };
    await view.act("add", async () => {
      await view.api.call("POST", `${view.path}/outputs`, { body: output });
      form.reset();
      form.closest("details").open = false;
    }, `Output ${output.id} added.`);
  }

  async #remove(id) {
    const { view } = this;
    if (!await confirmed(`Remove ${id}?`, "The program is no longer sent to this destination. Other outputs are not affected.", "Remove output")) return;
    await view.api.call("DELETE", `${view.path}/outputs/${part(id)}`);
    await view.read();
  }
}
