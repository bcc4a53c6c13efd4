// A form control for the value of a layout parameter.
import { h } from "./console-dom.js";
import { field } from "./console-ui.js";

/**
 * @typedef {object} Param A parameter as the service returns it.
 * @property {string} name @property {"text" | "number" | "color" | "image" | "visible"} type @property {string} [title]
 * @property {any} default @property {any} value @property {number} [min] @property {number} [max] @property {number} [maxLength]
 */

/** Converts an input's text to a value. `null`, for an empty number, means the layout's default. @param {Param} param @param {string | boolean} written */
export function valueOf(param, written) {
  if (param.type === "number") return written === "" ? null : Number(written);
  return param.type === "color" ? String(written).toUpperCase() : written;
}

/** Returns the parameters that a layout's text declares; none while the text is not JSON. @param {string} text @returns {Param[]} */
export function declared(text) {
  let params;
  try { params = JSON.parse(text)?.params; } catch { return []; }
  if (typeof params !== "object" || params === null || Array.isArray(params)) return [];
  return Object.entries(params).filter(([, one]) => ["text", "number", "color", "image", "visible"].includes(one?.type)).map(([name, one]) => ({
    name, type: one.type, ...typeof one.title === "string" ? { title: one.title } : {}, default: one.default, value: one.default,
    ...one.type === "number" ? { min: one.min ?? 0, max: one.max ?? 1 } : {}, ...one.type === "text" ? { maxLength: one.maxLength ?? 256 } : {},
  }));
}

/**
 * @param {Param} param @param {{ id: string, value: any, images?: string[], onChange: (value: any) => void }} options
 *   `images`: suggestions for image parameters.
 */
export function paramField(param, { id, value, images = [], onChange }) {
  const label = param.title ?? param.name;
  const hint = param.type === "number" ? `${param.min} to ${param.max}`
    : param.type === "text" ? `${param.name}, up to ${param.maxLength} bytes` : param.name;
  return [
    field(label, control(param, id, value, written => onChange(valueOf(param, written))), hint),
    param.type === "image" ? h("datalist", { id: `${id}-list` }, images.filter(image => image !== "").map(image => h("option", { value: image }))) : null,
  ];
}

/** @param {Param} param @param {string} id @param {any} value @param {(written: string | boolean) => void} onWrite */
function control(param, id, value, onWrite) {
  const input = event => onWrite(event.target.value);
  switch (param.type) {
    case "visible":
      return h("input", { id, type: "checkbox", role: "switch", checked: value, on: { change: event => onWrite(event.target.checked) } });
    case "color":
      return h("input", { id, type: "color", value: String(value).toLowerCase(), on: { input } });
    case "number":
      return h("input", { id, type: "number", min: param.min, max: param.max, step: "any", value, on: { input } });
    case "image":
      return h("input", { id, list: `${id}-list`, maxlength: "1024", autocomplete: "off", value, on: { input } });
    default:
      return h("input", { id, maxlength: param.maxLength, autocomplete: "off", value, on: { input } });
  }
}
