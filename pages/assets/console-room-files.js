// A room's recording, HLS and recorded files.
import { part } from "./console-api.js";
import { confirmed, h } from "./console-dom.js";
import { actionButton, field, panel, pill, problemBox, run, table } from "./console-ui.js";
import { at, bytes, duration, plural } from "./console-words.js";

const number = (form, id) => Number(form.querySelector(`#${id}`).value) || null;
const checked = (form, id) => form.querySelector(`#${id}`).checked;
const box = (id, label) => h("label", { class: "check", for: id }, h("input", { type: "checkbox", id }), label);

export class FilesPanel {
  #recording = null;
  /** `null` before they are read. */
  #files = null;
  /** The reason why the last read failed. */
  #problem = null;

  /** @param {import("./console-room.js").RoomView} view */
  constructor(view) { this.view = view; }

  async read() {
    const { view } = this, { signal } = view;
    try {
      const [recording, list] = await Promise.all([
        view.api.get(`${view.path}/recording`, { signal }), view.api.get(`${view.path}/recordings`, { signal }),
      ]);
      this.#recording = recording.data;
      this.#files = list.data.recordings;
      this.#problem = null;
    } catch (error) {
      this.#problem = error;
      throw error;
    } finally {
      view.draw();
    }
  }

  draw() { return [this.#drawRecording(), this.#drawHLS()]; }

  #drawRecording() {
    const { view } = this, { recording: running } = view.room, now = this.#recording;
    const isAsked = Boolean(now?.id) && (now.running || now.streams.some(stream => !["ended", "failed"].includes(stream.state)));
    const path = `${view.path}/recording`;
    return panel("Recording", {
      id: "recording",
      actions: running.running || isAsked
        ? actionButton(view, "record", "Stop recording", () => this.#do(() => view.api.call("DELETE", path)), { class: "danger", done: "Recording stopped." }) : null,
    },
    running.running ? h("p", { class: "row" }, h("span", { class: "pill rec" }, "Recording"),
      now?.streams?.length ? h("span", null, [
        duration(now.streams[0].seconds), bytes(now.streams.reduce((sum, stream) => sum + stream.bytes, 0)), plural(now.streams.length, "stream"),
      ].join(", ")) : null) : null,
    running.error ? h("p", { class: "bad" }, running.error.message, h("code", null, ` ${running.error.code}`)) : null,
    problemBox(view.problems.get("record")),
    running.running || isAsked ? null : h("details", { class: "more" }, h("summary", null, "Start recording"),
      h("form", { class: "form", on: { submit: event => { event.preventDefault(); this.#record(event.target); } } },
        box("rec-participants", "Also record each participant’s stream"), box("rec-single", "Continue in the same file after an interruption"),
        field("Start a new file every", h("input", { id: "rec-part", type: "number", min: "10", max: "604800", placeholder: "never" }), "seconds"),
        field("Stop after", h("input", { id: "rec-max", type: "number", min: "1", max: "604800", placeholder: "never" }), "seconds"),
        h("div", { class: "row end" }, h("button", { class: "primary" }, "Start recording")))),
    // The room view reports that the service is unreachable.
    this.#problem?.isLost ? null : problemBox(this.#problem),
    this.#files?.length ? table("Recorded files", ["File", "Started", "Length", "Size", ""], this.#files.map(file => this.#file(file)))
      : this.#files ? h("p", { class: "empty" }, "No recordings yet.") : null);
  }

  #file(file) {
    const { view } = this, id = `file-${file.file}`;
    return h("tr", { key: file.file },
      h("th", { scope: "row" }, file.source ? `${file.source}, part ${file.part}` : `Program, part ${file.part}`, " ", pill(file.state),
        file.error ? h("p", { class: "bad small" }, file.error.message) : null, problemBox(view.problems.get(id)), problemBox(view.problems.get(`${id}-get`))),
      h("td", null, at(file.startedAt)), h("td", null, duration(file.duration)), h("td", null, bytes(file.bytes)),
      h("td", { class: "row end" },
        actionButton(view, `${id}-get`, "Download", () => this.#download(file), { class: "small", label: `Download ${file.file}` }),
        actionButton(view, id, "Delete", async () => {
          if (!await confirmed("Delete this recording?", `${file.file} will be permanently deleted.`, "Delete file")) return;
          await view.api.call("DELETE", `${view.path}/recordings/${part(file.file)}`);
          await this.read();
        }, { class: "small danger-text", disabled: file.state === "recording", label: `Delete ${file.file}` })));
  }

  /** Downloads a file: straight to disk without a token, through memory with one, because a link cannot carry the token. */
  async #download(file) {
    const { api } = this.view, link = h("a", { download: file.file });
    if (!api.token) link.href = api.url(`${this.view.path}/recordings/${part(file.file)}`);
    else {
      link.href = URL.createObjectURL(await api.file(`${this.view.path}/recordings/${part(file.file)}`));
      setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    }
    link.click();
  }

  #do(action) { return action().then(() => Promise.all([this.read(), this.view.read()])); }

  #record(form) {
    const { view } = this;
    const body = {
      participants: checked(form, "rec-participants"), singleFilePerLayer: checked(form, "rec-single"),
      partSeconds: number(form, "rec-part"), maxSeconds: number(form, "rec-max"),
    };
    return run(view, "record", () => this.#do(() => view.api.call("PUT", `${view.path}/recording`, { body })), "Recording is starting.");
  }

  #drawHLS() {
    const { view } = this, { hls } = view.room, path = `${view.path}/hls`;
    const isOn = hls.running || hls.variants.length > 0 || Boolean(view.room.playback.hls);
    return panel("HLS", {
      id: "hls", actions: isOn ? actionButton(view, "hls", "Stop HLS", () => this.#do(() => view.api.call("DELETE", path)), { class: "danger", done: "HLS stopped." }) : null,
    },
    isOn ? h("p", null, pill(hls.running ? "running" : "waiting for a program", hls.running ? "running" : "waiting")) : null,
    hls.error ? h("p", { class: "bad" }, hls.error.message) : null,
    hls.variants.length ? h("ul", { class: "list" }, hls.variants.map(variant => h("li", { key: variant.url },
      h("a", { href: view.api.url(variant.url) }, variant.url), h("span", { class: "quiet small" }, ` ${variant.width}×${variant.height}, ${Math.round(variant.bandwidth / 1000)} kbit/s`),
      variant.error ? h("p", { class: "bad small" }, variant.error) : null))) : null,
    hls.onDemand?.archive && !hls.running ? h("p", null, h("a", { href: view.api.url(hls.onDemand.archive), download: true }, "Download the last session as one file")) : null,
    problemBox(view.problems.get("hls")),
    isOn ? null : h("details", { class: "more" }, h("summary", null, "Start HLS"),
      h("form", { class: "form", on: { submit: event => { event.preventDefault(); this.#stream(event.target); } } },
        field("Segment length", h("input", { id: "hls-segment", type: "number", min: "1", max: "10", placeholder: "4" }), "seconds"),
        field("Smaller rendition", h("input", { id: "hls-height", type: "number", min: "90", max: "1080", step: "2", placeholder: "none" }), "height in pixels"),
        box("hls-vod", "Keep all segments for download"),
        h("div", { class: "row end" }, h("button", { class: "primary" }, "Start HLS")))));
  }

  #stream(form) {
    const { view } = this, height = number(form, "hls-height");
    const body = { segmentSeconds: number(form, "hls-segment"), enableVOD: checked(form, "hls-vod"), ...height ? { renditions: [{ height }] } : {} };
    return run(view, "hls", () => this.#do(() => view.api.call("PUT", `${view.path}/hls`, { body })), "HLS is starting.");
  }
}
