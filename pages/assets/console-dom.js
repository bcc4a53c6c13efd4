// Builds elements, and updates the page without losing focus, selection or text that is being typed.

/** @typedef {Node | string | number | null | undefined | false | Child[]} Child */
/**
 * @typedef {Record<string, any>} Props Attributes, and `on` (handlers by event), `key` (identity among siblings), `style`
 * (properties, set from script because of the content security policy), `keep` (after creation, children are not updated, and no
 * attributes removed), `passing` (is not always there: it appears and goes without taking the place of its siblings).
 */

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "path", "rect", "line", "circle", "g", "text", "title", "polyline"]);

function dispatch(event) { this.handlers?.[event.type]?.call(this, event); }

function listen(element, handlers) {
  element.handlers = handlers;
  for (const type of Object.keys(handlers ?? {})) element.addEventListener(type, dispatch);
}

/** Creates an element. Strings always become text, never HTML. @param {string} tag @param {Props | null} [props] @param {...Child} children */
export function h(tag, props, ...children) {
  const element = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  const { on, key, style, keep, passing, value, checked, selected, ...attributes } = props ?? {};
  for (const [name, content] of Object.entries(attributes)) {
    if (content === true) element.setAttribute(name, "");
    else if (content !== false && content !== null && content !== undefined) element.setAttribute(name, content);
  }
  for (const [name, content] of Object.entries(style ?? {})) element.style.setProperty(name, content);
  if (key !== undefined) element.key = String(key);
  if (keep) element.keep = true;
  if (passing) element.passing = true;
  if (on) listen(element, on);
  append(element, children);
  if (value !== undefined) element.value = element.wanted = value ?? "";
  if (checked !== undefined) element.checked = element.wanted = Boolean(checked);
  if (selected) element.selected = true;
  return element;
}

/** Returns a placeholder for an element that outlives one drawing, because moving the element would lose its focus. @param {Element} element */
export function placeOf(element) {
  const place = document.createElement("template");
  place.stands = element;
  return place;
}

/** Replaces the placeholders in a tree that is new on the page with their elements. */
function settle(node) {
  for (const place of node.querySelectorAll?.("template") ?? []) if (place.stands) place.replaceWith(place.stands);
  return node;
}

/** @param {Element} element @param {Child[]} children */
function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child instanceof Node) element.append(child);
    else if (child !== null && child !== undefined && child !== false && child !== "") element.append(String(child));
  }
}

const isSame = (old, next) => old.nodeType === next.nodeType && old.nodeName === next.nodeName && old.key === next.key
  && old.passing === next.passing;

function patch(old, next) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    // `open` is the user's choice, and an element that is kept has attributes of its own.
    if (!next.keep && !next.hasAttribute(name) && name !== "style" && name !== "open") old.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (name !== "style" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (old.style && old.style.cssText !== next.style.cssText) old.style.cssText = next.style.cssText;
  listen(old, next.handlers);
  if (next.keep) return;
  reconcile(old, [...next.childNodes]);
  // A control takes a new value only when the page's value has changed, not with each drawing.
  if (next.wanted !== undefined && old.wanted !== next.wanted) {
    if (typeof next.wanted === "boolean") old.checked = next.wanted;
    else old.value = next.wanted;
    old.wanted = next.wanted;
  }
}

function reconcile(parent, nodes) {
  const keyed = new Map();
  for (const child of parent.childNodes) if (child.key !== undefined) keyed.set(child.key, child);
  let at = parent.firstChild;
  for (const node of nodes) {
    // Otherwise the siblings would be built again, without their focus and the text in their inputs.
    while (at?.passing && !node.passing) {
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
    if (node.stands) {
      if (node.stands === at) at = at.nextSibling;
      else parent.insertBefore(node.stands, at);
      continue;
    }
    const match = node.key === undefined ? at : keyed.get(node.key);
    if (!match || !isSame(match, node)) {
      parent.insertBefore(settle(node), at);
      continue;
    }
    if (match === at) at = at.nextSibling;
    else parent.insertBefore(match, at);
    patch(match, node);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

/** Updates an element's children to the given ones. @param {Element} parent @param {...Child} children */
export function render(parent, ...children) {
  const holder = document.createDocumentFragment();
  append(holder, children);
  reconcile(parent, [...holder.childNodes]);
}

/** Announces a text to screen readers. @param {string} text */
export function announce(text) {
  const place = document.getElementById("announcer");
  if (place.textContent === text) place.textContent = "";
  place.textContent = text;
}

/**
 * Shows a dialog. Focus returns when it closes. `body` receives a function that closes the dialog with a value.
 * @param {string} title @param {(close: (value?: any) => void) => Child} body @param {{ wide?: boolean }} [options]
 * @returns {Promise<any>} The value; `undefined` if the dialog was dismissed.
 */
export function dialog(title, body, { wide = false } = {}) {
  return new Promise(resolve => {
    const id = `dialog-${Math.random().toString(36).slice(2)}`;
    let result;
    const close = value => { result = value; element.close(); };
    const element = h("dialog", { "aria-labelledby": id, class: wide ? "wide" : null }, h("h2", { id }, title), body(close));
    element.addEventListener("close", () => { element.remove(); resolve(result); });
    document.body.append(element);
    element.showModal();
  });
}

/** Asks for confirmation of an action that cannot be undone. @param {string} title @param {string} text @param {string} action */
export async function confirmed(title, text, action) {
  return await dialog(title, close => [
    h("p", null, text),
    h("div", { class: "row end" },
      h("button", { type: "button", on: { click: () => close(false) } }, "Cancel"),
      h("button", { type: "button", class: "danger", on: { click: () => close(true) } }, action)),
  ]) === true;
}
