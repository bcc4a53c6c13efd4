// Completion from a JSON schema (2020-12): the keys and values that are allowed at a position in the text.
import { contextAt } from "./console-json.js";

/** @typedef {{ label: string, text: string, detail: string }} Suggestion `text` replaces the word at the caret. */

/** Yields a schema and all schemas that it refers to. */
function* parts(schema, root, depth = 0) {
  if (!schema || typeof schema !== "object" || depth > 12) return;
  yield schema;
  if (schema.$ref) yield* parts(schema.$ref.slice(2).split("/").reduce((node, step) => node?.[step], root), root, depth + 1);
  for (const word of ["anyOf", "oneOf", "allOf"]) for (const one of schema[word] ?? []) yield* parts(one, root, depth + 1);
}

/** Returns the schemas that apply at a path. */
function at(root, path) {
  let found = [...parts(root, root)];
  for (const step of path) {
    const next = found.map(schema => typeof step === "number" ? schema.items : schema.properties?.[step]).filter(Boolean);
    found = next.flatMap(schema => [...parts(schema, root)]);
  }
  return found;
}

/** Returns the types that a schema allows, the usual one first. */
const types = schema => [schema?.type ?? []].flat();

const describe = schemas => schemas.find(schema => schema.description)?.description ?? "";

/** Returns the initial value of a new key. */
function blank(schemas) {
  const type = types(schemas.find(schema => schema.type))[0], first = schemas.find(schema => schema.enum)?.enum[0];
  if (first !== undefined) return JSON.stringify(first);
  if (type === "object") return "{}";
  if (type === "array") return "[]";
  if (type === "boolean") return "true";
  return type === "string" ? "\"\"" : "";
}

/**
 * @param {any} root The schema. @param {string} text @param {number} caret
 * @returns {{ start: number, end: number, list: Suggestion[] } | null}
 */
export function suggestions(root, text, caret) {
  const context = contextAt(text, caret);
  if (!context) return null;
  const { path, kind, word, start, end, known } = context, schemas = at(root, path);
  const list = kind === "key" ? keys(root, schemas, known) : values(schemas);
  const matching = list.filter(({ label }) => label.toLowerCase().includes(word.toLowerCase()))
    .sort((one, other) => Number(other.label.startsWith(word)) - Number(one.label.startsWith(word)));
  return matching.length ? { start, end, list: matching } : null;
}

function keys(root, schemas, known) {
  const found = new Map();
  for (const schema of schemas) {
    for (const [key, value] of Object.entries(schema.properties ?? {})) {
      if (known.includes(key) || found.has(key)) continue;
      const of = [...parts(value, root)];
      found.set(key, { label: key, text: `"${key}": ${blank(of)}`, detail: describe(of) });
    }
  }
  return [...found.values()];
}

function values(schemas) {
  const found = new Map();
  const add = (value, detail) => { const label = typeof value === "string" ? value : JSON.stringify(value); found.set(label, { label, text: JSON.stringify(value), detail }); };
  for (const schema of schemas) {
    const detail = schema.description ?? "";
    for (const value of schema.enum ?? []) add(value, value === schema.default ? `Default. ${detail}` : detail);
    if (schema.const !== undefined) add(schema.const, detail);
    if (types(schema).includes("boolean")) for (const value of [true, false]) add(value, detail);
    if (schema.default !== undefined && !found.has(String(schema.default))) add(schema.default, `Default. ${detail}`);
  }
  return [...found.values()];
}
