// The values of the layout's parameters, such as a score or a title, which can change on air.
import { Problem, part } from "./console-api.js";
import { announce, h } from "./console-dom.js";
import { Latest } from "./console-feed.js";
import { paramField } from "./console-param-field.js";
import { conflict, panel, problemBox, run } from "./console-ui.js";

/** @typedef {import("./console-param-field.js").Param} Param */

/** Returns the number one step up or down, within the parameter's bounds. @param {Param} param @param {number} value @param {1 | -1} direction */
export function stepped(param, value, direction) {
  const { min = -Infinity, max = Infinity } = param, step = max - min <= 1 ? 0.1 : 1;
  return Math.min(max, Math.max(min, Math.round((value + direction * step) * 1000) / 1000));
}

/** Returns the names in `changes` whose values someone else has changed since. @param {Record<string, any>} changes @param {Param[]} before @param {Param[]} now */
export function contested(changes, before, now) {
  const values = params => new Map(params.map(param => [param.name, param.value]));
  const [old, present] = [values(before), values(now)];
  return Object.keys(changes).filter(name => present.get(name) !== old.get(name));
}

const words = value => value === true ? "yes" : value === false ? "no" : value === null ? "the layout’s default" : String(value);

export class ParamsPanel {
  /** @type {Param[]} */
  #params = [];
  #etag = null;
  #layout = null;
  /** Changes that are not applied yet, by parameter name. */
  #changes = {};
  /** The values that the operator saw before these changes, by parameter name. */
  #seen = {};
  /** The images of the layout, as suggestions. */
  #images = [];
  #reads = new Latest();

  /** @param {import("./console-room.js").RoomView} view */
  constructor(view) { this.view = view; }

  get isChanged() { return Object.keys(this.#changes).length > 0; }

  async read() {
    const { view } = this, isLatest = this.#reads.begin();
    const { data, etag } = await view.api.get(`${view.path}/params`, { signal: view.signal });
    if (!isLatest()) return;
    const isOther = data.layout !== this.#layout;
    this.#take(data, etag);
    if (isOther && data.params.some(param => param.type === "image")) await this.#readImages(data.layout);
  }

  #take({ layout, params }, etag) {
    if (layout !== this.#layout) this.#images = [];
    this.#layout = layout;
    this.#params = params;
    this.#etag = etag;
    for (const name of Object.keys(this.#changes)) if (!params.some(param => param.name === name)) this.#drop(name);
  }

  async #readImages(layout) {
    try {
      const { data } = await this.view.api.get(`/v1/layouts/${part(layout)}`, { signal: this.view.signal, quiet: true });
      this.#images = (data.images ?? []).map(({ image }) => image);
    } catch { /* images can still be typed */ }
  }

  draw() {
    if (!this.#params.length) return null;
    const { view } = this;
    return panel("Layout values", { id: "params" },
      h("form", { class: "form", on: { submit: event => { event.preventDefault(); this.#apply({ ...this.#changes }); } } },
        this.#params.map(param => this.#field(param)),
        problemBox(view.problems.get("params")),
        h("div", { class: "row end apply" },
          this.isChanged ? h("span", { class: "quiet grow" }, `Not applied: ${Object.keys(this.#changes).join(", ")}`) : null,
          h("button", { type: "button", disabled: !this.isChanged, on: { click: () => this.#forget() } }, "Discard"),
          h("button", { class: "primary", disabled: !this.isChanged }, "Apply"))));
  }

  #value(param) { return this.#changes[param.name] ?? param.value; }

  /** @param {Param} param */
  #field(param) {
    const label = param.title ?? param.name, id = `param-${param.name}`;
    return h("div", { key: param.name, class: "param" },
      paramField(param, { id, value: this.#value(param), images: this.#imagesFor(param), onChange: value => this.#change(param, value) }),
      h("div", { class: "row" },
        param.type === "number" ? [[-1, "−", "Decrease"], [1, "+", "Increase"]].map(([direction, sign, word]) => h("button", {
          type: "button", class: "small", key: word, "aria-label": `${word} ${label} immediately`,
          on: { click: () => this.#apply({ [param.name]: stepped(param, Number(this.#value(param)), direction) }) },
        }, sign)) : null,
        param.value !== param.default ? h("button", {
          type: "button", class: "small", key: "default", "aria-label": `Reset ${label} to ${words(param.default)} immediately`,
          on: { click: () => this.#apply({ [param.name]: null }) },
        }, "Default") : null));
  }

  /** @param {Param} param */
  #imagesFor(param) { return [...new Set([param.default, param.value, ...this.#images])]; }

  #change(param, value) {
    if (value === param.value) this.#drop(param.name);
    else {
      if (!(param.name in this.#changes)) this.#seen[param.name] = param.value;
      this.#changes[param.name] = value;
    }
    this.view.draw();
  }

  #drop(name) {
    delete this.#changes[name];
    delete this.#seen[name];
  }

  #forget() {
    this.#changes = {};
    this.#seen = {};
    this.view.problems.delete("params");
    this.view.draw();
  }

  /** Sends only these values, so that values that someone else has changed in the meantime stay. */
  #apply(changes) {
    const { view } = this;
    return run(view, "params", async () => {
      const pending = { ...this.#changes };
      // The page reads other operators' values all the time, and shows this operator's own in their place.
      let before = this.#params.map(param => ({ name: param.name, value: this.#seen[param.name] ?? param.value }));
      for (;;) {
        const now = this.#params, names = contested(changes, before, now);
        if (names.length) {
          const choice = await conflict("Someone else changed these values", names.map(name => [
            name, words(now.find(param => param.name === name)?.value ?? "–"), words(changes[name])]));
          if (choice === "theirs") return this.#forget();
          if (choice !== "mine") return;
          before = now;
        }
        try {
          const { data, etag } = await view.api.patch(`${view.path}/params`, changes, this.#etag);
          // Answers to earlier reads are outdated.
          this.#reads.begin()();
          this.#take(data, etag);
          for (const [name, value] of Object.entries(changes)) {
            // A step replaces the number that it started from, unless that was edited since.
            if ([value, pending[name]].includes(this.#changes[name])) this.#drop(name);
            else if (name in this.#changes) this.#seen[name] = this.#params.find(param => param.name === name)?.value;
          }
          return announce(`${view.room.task ? "On air" : "Set"}: ${Object.entries(changes).map(([name, value]) => `${name} ${words(value)}`).join(", ")}`);
        } catch (error) {
          if (!(error instanceof Problem) || !error.isConflict) throw error;
          await this.read();
        }
      }
    });
  }
}
