// The view of the service: readiness, load, and what is on air.
import { h, render } from "./console-dom.js";
import { repeat } from "./console-feed.js";
import { facts, panel, pill, problemBox } from "./console-ui.js";
import { bytes, duration, plural } from "./console-words.js";

const CHECKS = {
  rooms: ["Rooms have been restored", "Rooms are being restored"], relays: ["Relays have been taken over", "Relays are being taken over"],
  store: ["The store accepts changes", "The store does not accept changes"], worker: ["Relays can start", "Relays cannot start"],
  shutdown: ["The service is running", "The service is shutting down"],
};

/** Parses the Prometheus text format. @param {string} text @returns {Map<string, { labels: Record<string, string>, value: number }[]>} */
export function readMetrics(text) {
  const found = new Map();
  for (const line of text.split("\n")) {
    const [, name, words, value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
    if (!name) continue;
    const labels = Object.fromEntries([...(words ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(match => [match[1], match[2]]));
    if (!found.has(name)) found.set(name, []);
    found.get(name).push({ labels, value: Number(value) });
  }
  return found;
}

export class ServiceView {
  #abort = new AbortController();
  #checks = null;
  #metrics = null;
  #problem = null;

  constructor({ api, root }) { Object.assign(this, { api, root }); }

  open() {
    this.draw();
    repeat(signal => this.#read(signal), 3000, this.#abort.signal);
  }

  close() { this.#abort.abort(); }

  async #read(signal) {
    try {
      const ready = await this.api.get("/readyz", { signal, quiet: true }).then(({ data }) => data, error => { if (error.checks) return error; throw error; });
      this.#checks = ready.checks;
      this.draw();
      this.#metrics = readMetrics((await this.api.get("/metrics", { signal })).text);
      this.#problem = null;
    } catch (error) {
      if (signal.aborted) return;
      this.#problem = error;
      throw error;
    } finally {
      if (!signal.aborted) this.draw();
    }
  }

  /** The sum of a metric's values; `undefined` if there is none. */
  #sum(name, label, value) {
    const list = this.#metrics?.get(name)?.filter(one => !label || one.labels[label] === value);
    return list?.length ? list.reduce((sum, one) => sum + one.value, 0) : undefined;
  }

  draw() {
    if (this.#abort.signal.aborted) return;
    const isReady = this.#checks?.every(check => check.ok);
    render(this.root,
      h("div", { class: "title-row" }, h("h1", null, "Service"), this.#checks ? pill(isReady ? "ready" : "not ready", isReady ? "good" : "failed") : null),
      this.#problem?.isLost ? null : problemBox(this.#problem),
      h("div", { class: "pair" },
        panel("Checks", { id: "checks" }, this.#checks
          ? h("ul", { class: "list" }, this.#checks.map(check => h("li", { key: check.name }, h("div", { class: "row" },
            h("span", { class: `mark ${check.ok ? "good" : "bad"}`, "aria-hidden": "true" }, check.ok ? "✓" : "✕"),
            h("span", { class: "grow" }, (CHECKS[check.name] ?? [check.name, check.name])[check.ok ? 0 : 1])), check.detail ? h("p", { class: "bad small" }, check.detail) : null)))
          : h("p", { class: "empty", role: "status" }, "Loading…")),
        this.#metrics ? this.#load() : null,
        this.#metrics ? this.#onAir() : null,
        this.#metrics ? this.#process() : null));
  }

  #load() {
    const committed = this.#sum("cpu_cores_committed") ?? 0, free = this.#sum("cpu_cores_available"), used = this.#sum("task_cost_cores") ?? 0;
    const level = [4, 3, 2, 1].find(one => this.#sum("degraded_tasks", "level", String(one))) ?? 0, waiting = this.#sum("tasks_waiting") ?? 0;
    const total = committed + (free ?? 0), cores = value => `${value.toFixed(2)} cores`;
    return panel("Load and admission", { id: "load" },
      free === undefined ? null : [
        h("p", { id: "load-words" }, `${cores(committed)} reserved for programs, ${cores(free)} free for new ones`),
        h("meter", { min: "0", max: String(Math.max(total, 0.01)), value: String(committed), "aria-labelledby": "load-words" })],
      facts([
        ["In use now", cores(used)], ["Admission", free === undefined ? "off: every program starts" : null],
        ["Overload", level ? `level ${level}: ${plural(this.#sum("degraded_tasks"), "program")} at a reduced frame rate` : "none: every frame is rendered"],
        ["Waiting for cores", plural(waiting, "program")], ["Refused so far", plural(this.#sum("admission_refusals_total") ?? 0, "start")],
      ]));
  }

  #onAir() {
    const count = (name, label, value) => this.#sum(name, label, value) ?? 0;
    return panel("On air", { id: "air" }, facts([
      ["Programs", [["bypass", "copied"], ["mix", "mixed"], ["slate", "showing the slate"]]
        .map(([kind, word]) => `${count("programs_on_air", "kind", kind)} ${word}`).join(", ")],
      ["Mixers failing", String(count("mixers_failing"))], ["Rooms", String(count("rooms"))], ["Viewers", String(count("viewers") + count("webrtc_viewers"))],
      ["Publishers", String(count("ingest_publishers") + count("webrtc_publishers"))],
      ["Outputs", `${count("outputs", "state", "live")} live, ${count("outputs", "state", "recovering")} recovering, ${count("outputs", "state", "failed")} failed`],
      ["Recordings", `${count("recordings", "state", "recording")} running, ${count("recordings", "state", "failed")} failed`],
      ["Broken layouts", String(count("layouts_broken"))], ["Webhook messages waiting", String(count("webhook_messages_waiting"))],
    ]));
  }

  #process() {
    const started = this.#sum("process_start_time_seconds");
    return panel("This release", { id: "release" }, facts([
      ["Version", this.#metrics.get("build_info")?.[0]?.labels.version], ["Uptime", started ? duration(Date.now() / 1000 - started) : null],
      ["Memory", bytes(this.#sum("process_resident_memory_bytes") ?? 0)],
      ["Open files", `${this.#sum("process_open_fds") ?? "–"} of ${this.#sum("process_max_fds") ?? "–"}`], ["Failed store writes", String(this.#sum("store_failures_total") ?? 0)],
    ]), h("p", { class: "quiet small" }, h("a", { href: this.api.url("/openapi.yaml") }, "HTTP API reference"), this.api.token ? null : [" · ", h("a", { href: this.api.url("/metrics") }, "All metrics")]));
  }
}
