// A text area for JSON with line numbers, error marks, and keyboard completion from a schema.
import { announce, h, render } from "./console-dom.js";
import { suggestions } from "./console-schema.js";

/** Most suggestions that are shown. */
const MOST = 60;

export class CodeEditor {
  #list = null;
  #chosen = 0;
  #marks = new Set();
  #lines = 0;

  /** @param {{ id: string, label: string, schema: () => any, onChange: () => void }} options */
  constructor({ id, label, schema, onChange }) {
    Object.assign(this, { schema, onChange });
    this.area = h("textarea", {
      id, "aria-label": label, "aria-autocomplete": "list", "aria-controls": `${id}-list`, "aria-describedby": `${id}-keys`,
      spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off",
      on: {
        input: event => this.#typed(event), keydown: event => this.#key(event), scroll: () => this.#scrolled(), blur: () => this.#close(), click: () => this.#close(),
      },
    });
    this.gutter = h("div", { class: "gutter", "aria-hidden": "true" });
    this.box = h("ul", { id: `${id}-list`, class: "suggestions", role: "listbox", "aria-label": "Suggestions", hidden: true });
    this.element = h("div", { class: "code", key: id }, this.gutter, this.area, this.box,
      h("p", { class: "hint", id: `${id}-keys` }, "Press Ctrl+Space for suggestions. Press Escape, then Tab to leave the editor."));
  }

  get text() { return this.area.value; }

  /** Loads another text. This cannot be undone. */
  load(text) {
    this.area.value = text;
    this.#number();
  }

  /** Replaces only the differing part, so that it can be undone in one step. @param {string} text */
  replace(text) {
    const old = this.area.value, least = Math.min(old.length, text.length);
    let head = 0, tail = 0;
    while (head < least && old[head] === text[head]) head++;
    while (tail < least - head && old.at(-1 - tail) === text.at(-1 - tail)) tail++;
    if (old !== text) this.#insert(head, old.length - tail, text.slice(head, text.length - tail));
  }

  /** Moves the caret to a position that the service reported. @param {number} line @param {number} column In bytes, from 1. */
  goTo(line, column) {
    const lines = this.text.split("\n");
    let at = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0), left = column - 1;
    for (const letter of lines[line - 1] ?? "") {
      if (left <= 0) break;
      left -= new TextEncoder().encode(letter).length;
      at += letter.length;
    }
    this.area.focus();
    this.area.setSelectionRange(at, at);
    const height = this.#lineHeight;
    this.area.scrollTop = Math.max(0, (line - 4) * height);
  }

  /** Marks lines that have errors. @param {number[]} lines */
  mark(lines) {
    this.#marks = new Set(lines);
    this.#number();
  }

  get #lineHeight() { return parseFloat(getComputedStyle(this.area).lineHeight) || 20; }

  #number() {
    this.#lines = this.text.split("\n").length;
    render(this.gutter, Array.from({ length: this.#lines }, (_, index) => h("span", { class: this.#marks.has(index + 1) ? "marked" : null }, String(index + 1))));
    this.#scrolled();
  }

  #scrolled() { this.gutter.scrollTop = this.area.scrollTop; }

  /** Inserts text as if it were typed, so that the browser can undo it. */
  #insert(start, end, text) {
    this.area.focus({ preventScroll: true });
    this.area.setSelectionRange(start, end);
    const isDone = text ? document.execCommand("insertText", false, text) : document.execCommand("delete");
    if (!isDone) {
      this.area.setRangeText(text, start, end, "end");
      this.#changed();
    }
  }

  #changed() {
    this.#number();
    this.onChange();
  }

  #typed(event) {
    this.#changed();
    if (event.inputType === "insertText" && /^[\w"]$/.test(event.data ?? "")) this.#suggest();
    else if (this.#list) this.#suggest();
  }

  #key(event) {
    // These keys belong to the input method. Safari reports the one that ends a composition after its end, with code 229.
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      this.#suggest(true);
    } else if (this.#list && ["ArrowDown", "ArrowUp"].includes(event.key)) {
      event.preventDefault();
      const { length } = this.#list.list;
      this.#choose((this.#chosen + (event.key === "ArrowDown" ? 1 : length - 1)) % length);
    } else if (this.#list && ["Enter", "Tab"].includes(event.key)) {
      event.preventDefault();
      this.#take(this.#chosen);
    } else if (event.key === "Escape") {
      if (this.#list) event.preventDefault();
      this.#close();
      this.leaves = true;
      return;
    } else if (event.key === "Tab" && !event.shiftKey && !this.leaves) {
      event.preventDefault();
      this.#insert(this.area.selectionStart, this.area.selectionEnd, "    ");
    } else if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) {
      // Keeps the indentation, and indents further after an opening bracket.
      event.preventDefault();
      const { selectionStart: start, selectionEnd: end } = this.area, line = this.text.slice(0, start).split("\n").at(-1);
      this.#insert(start, end, `\n${/^ */.exec(line)[0]}${/[[{]\s*$/.test(line) ? "    " : ""}`);
    }
    this.leaves = false;
  }

  #suggest(isAsked = false) {
    const schema = this.schema(), { selectionStart: caret, selectionEnd } = this.area;
    const found = schema && caret === selectionEnd ? suggestions(schema, this.text, caret) : null;
    const isComplete = found?.list.length === 1 && found.list[0].text === this.text.slice(found.start, caret);
    if (!found || isComplete) {
      if (isAsked) announce("No suggestions here.");
      return this.#close();
    }
    found.list.length = Math.min(found.list.length, MOST);
    this.#list = found;
    this.box.hidden = false;
    this.#place(caret);
    this.#choose(0);
    announce(`${found.list.length} suggestions`);
  }

  #choose(index) {
    this.#chosen = index;
    render(this.box, this.#list.list.map(({ label, detail }, at) => h("li", {
      id: `${this.box.id}-${at}`, role: "option", "aria-selected": String(at === index),
      // Keeps the focus in the text.
      on: { mousedown: event => { event.preventDefault(); this.#take(at); } },
    }, h("code", null, label), h("span", { class: "quiet" }, detail))));
    this.area.setAttribute("aria-activedescendant", `${this.box.id}-${index}`);
    this.box.children[index].scrollIntoView({ block: "nearest" });
  }

  #place(caret) {
    const lines = this.text.slice(0, caret).split("\n"), style = getComputedStyle(this.area);
    const probe = new OffscreenCanvas(1, 1).getContext("2d");
    probe.font = style.font;
    const x = this.area.offsetLeft + parseFloat(style.paddingLeft) + probe.measureText(lines.at(-1)).width - this.area.scrollLeft;
    const y = parseFloat(style.paddingTop) + lines.length * this.#lineHeight - this.area.scrollTop;
    this.box.style.left = `${Math.max(8, Math.min(x, this.element.clientWidth - this.box.offsetWidth - 8))}px`;
    this.box.style.top = `${y + 2}px`;
  }

  #take(index) {
    const { start, end, list } = this.#list, { text } = list[index];
    this.#close();
    this.#insert(start, end, text);
    // Places the caret between new brackets or quotation marks.
    if (/(\{\}|\[\]|"")$/.test(text)) this.area.setSelectionRange(start + text.length - 1, start + text.length - 1);
  }

  #close() {
    this.#list = null;
    this.box.hidden = true;
    this.area.removeAttribute("aria-activedescendant");
  }
}
