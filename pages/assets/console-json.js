// Parses JSON (RFC 8259) with the position of each value, so that one value can be changed without touching the rest of the text.

/**
 * @typedef {object} JSONNode
 * @property {"object" | "array" | "string" | "number" | "word"} type `word`: true, false or null.
 * @property {number} start @property {number} end Offsets in the text; the end is exclusive.
 * @property {any} value
 * @property {{ key: string, start: number, node: JSONNode }[]} [members] Of an object.
 * @property {JSONNode[]} [items] Of an array.
 */

const TOKEN = /[ \t\n\r]*(?:([{}[\],:])|("(?:[^"\\\u0000-\u001f]|\\.)*")|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(true|false|null))/y;
/** The deepest nesting that is accepted, as in the service. */
const DEPTH = 64;

/** Splits text into tokens, up to the first character that is not JSON. @param {string} text @param {number} [limit] */
export function* tokens(text, limit = text.length) {
  let at = 0;
  while (at < limit) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (!match) return;
    const [all, sign, string, number, word] = match, end = at + all.length, raw = sign ?? string ?? number ?? word;
    yield { type: sign ? "sign" : string ? "string" : number ? "number" : "word", raw, start: end - raw.length, end };
    at = end;
  }
}

/** @param {string} text @returns {JSONNode | null} `null` if the text is not JSON. */
export function parse(text) {
  const list = [...tokens(text)];
  let at = 0;
  const sign = raw => list[at]?.type === "sign" && list[at].raw === raw && Boolean(++at);
  const string = raw => { try { return JSON.parse(raw); } catch { return undefined; } };

  function read(depth) {
    const token = list[at++];
    if (!token || depth > DEPTH) return null;
    if (token.type !== "sign") {
      const value = string(token.raw);
      return value === undefined ? null : { type: token.type, start: token.start, end: token.end, value };
    }
    if (token.raw !== "{" && token.raw !== "[") return null;
    const isObject = token.raw === "{", close = isObject ? "}" : "]", parts = [];
    while (!sign(close)) {
      if (parts.length && !sign(",")) return null;
      const name = isObject ? list[at++] : null;
      if (isObject && (name?.type !== "string" || !sign(":"))) return null;
      const node = read(depth + 1);
      if (!node) return null;
      parts.push(isObject ? { key: string(name.raw), start: name.start, node } : node);
    }
    const end = list[at - 1].end;
    return isObject
      ? { type: "object", start: token.start, end, members: parts, value: Object.fromEntries(parts.map(({ key, node }) => [key, node.value])) }
      : { type: "array", start: token.start, end, items: parts, value: parts.map(node => node.value) };
  }

  const node = read(0);
  return node && at === list.length && !text.slice(list.at(-1).end).trim() ? node : null;
}

/** @param {JSONNode | null} node @param {...(string | number)} path @returns {JSONNode | null} */
export function find(node, ...path) {
  for (const step of path) {
    node = (typeof step === "number" ? node?.items?.[step] : node?.members?.findLast(member => member.key === step)?.node) ?? null;
  }
  return node;
}

/**
 * Replaces values of an object's members. Members that the object does not have are ignored.
 * @param {string} text @param {JSONNode} object A node of this text. @param {Record<string, number | string>} values
 */
export function withValues(text, object, values) {
  const changes = object.members.filter(member => member.key in values).sort((one, other) => other.node.start - one.node.start);
  for (const { key, node } of changes) text = text.slice(0, node.start) + JSON.stringify(values[key]) + text.slice(node.end);
  return text;
}

/**
 * Returns the context of the caret: the path of the enclosing value, and whether a key or a value belongs there. The text may be incomplete.
 * @param {string} text @param {number} caret
 * @returns {{ path: (string | number)[], kind: "key" | "value", word: string, start: number, end: number, known: string[] } | null}
 */
export function contextAt(text, caret) {
  /** @type {{ isObject: boolean, key: string | null, index: number, expectsKey: boolean, known: string[] }[]} */
  const stack = [];
  let end = 0;
  for (const token of tokens(text, caret)) {
    if (token.end > caret) break;
    end = token.end;
    const top = stack.at(-1);
    if (token.raw === "{" || token.raw === "[") stack.push({ isObject: token.raw === "{", key: null, index: 0, expectsKey: token.raw === "{", known: [] });
    else if (token.raw === "}" || token.raw === "]") stack.pop();
    else if (token.raw === "," && top) Object.assign(top, { index: top.index + 1, key: null, expectsKey: top.isObject });
    else if (token.raw === ":" && top) top.expectsKey = false;
    else if (token.type === "string" && top?.expectsKey) {
      top.key = token.raw.slice(1, -1);
      top.known.push(top.key);
    }
  }
  const top = stack.at(-1);
  if (!top) return null;
  // The word that was begun before the caret, with or without quotation marks.
  const rest = text.slice(end, caret), begun = /("?)([\w$.-]*)$/.exec(rest);
  if (rest.slice(0, begun.index).trim()) return null;
  // After a complete key there is nothing to suggest.
  if (top.isObject && top.expectsKey && top.key !== null) return null;
  const start = caret - begun[0].length, after = /^[\w$.-]*"?/.exec(text.slice(caret))[0];
  const path = stack.slice(0, -1).map(level => level.isObject ? level.key : level.index);
  if (!top.expectsKey) path.push(top.isObject ? top.key : top.index);
  return { path, kind: top.expectsKey ? "key" : "value", word: begun[2], start, end: caret + (begun[1] ? after.length : 0), known: top.known };
}
