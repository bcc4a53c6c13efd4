// Values of the layout's parameters and of a channel for the editor's preview. They are not stored.
import { h } from "./console-dom.js";
import { declared, paramField } from "./console-param-field.js";
import { field } from "./console-ui.js";

/** The channel values that texts may show, with their initial sample values. */
const CHANNEL = { viewers: 1234, likes: 56, comment: "Ann: What a goal!" };

export class LayoutValues {
  /** Tried values by parameter name. */
  #tried = {};
  #channel = { ...CHANNEL };

  /** @param {() => void} onChange */
  constructor(onChange) { this.onChange = onChange; }

  /** Returns the members to add to a plan request for this text, as JSON. @param {string} text */
  members(text) {
    const params = declared(text).filter(({ name }) => name in this.#tried).map(({ name }) => [name, this.#tried[name]]);
    return `,"params":${JSON.stringify(Object.fromEntries(params))},"values":${JSON.stringify(this.#channel)}`;
  }

  /** @param {string} text */
  draw(text) {
    const params = declared(text), shown = Object.keys(CHANNEL).filter(name => text.includes(`{${name}}`));
    if (!params.length && !shown.length) return null;
    return h("details", { class: "more", key: "try" }, h("summary", null, "Try values"),
      h("div", { class: "form" },
        params.map(param => h("div", { key: param.name, class: "param" }, paramField(param, {
          id: `try-${param.name}`, value: this.#tried[param.name] ?? param.default,
          onChange: value => { if (value === null) delete this.#tried[param.name]; else this.#tried[param.name] = value; this.onChange(); },
        }))),
        shown.map(name => h("div", { key: `{${name}}`, class: "param" }, field(`{${name}}`, h("input", {
          id: `try-channel-${name}`, type: name === "comment" ? "text" : "number", min: "0", max: "1000000000", maxlength: "120",
          autocomplete: "off", value: String(this.#channel[name]), on: { input: event => this.#set(name, event.target.value) },
        }), "From the room’s channel")))));
  }

  #set(name, written) {
    this.#channel[name] = name === "comment" ? written : Math.min(1e9, Math.max(0, Math.round(Number(written) || 0)));
    this.onChange();
  }
}
