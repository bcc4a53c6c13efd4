// Which room a page is about: /watch/{room}, or /watch/{room}?app={app} for a room of an app other than the standard one.

/**
 * @typedef {object} Place
 * @property {string} room @property {string} app Empty: the standard one, or that of the page's token.
 * @property {string} path Of the room behind /live, /whip and /whep: `/{room}` or `/{app}/{room}`.
 * @property {string} query What else the page was given, as `?…` or empty.
 */

/**
 * Reads the page's address.
 * @param {{pathname: string, search: string}} address @param {URLSearchParams} [words] In which the app may stand besides the query.
 * @returns {Place}
 */
export function placeOf({ pathname, search }, words) {
  const app = words?.get("app") ?? new URLSearchParams(search).get("app") ?? "";
  const room = decodeURIComponent(pathname.split("/").filter(Boolean).at(-1) ?? "");
  // Signatures stay as they are written.
  const rest = search.replace(/^\?/, "").split("&").filter(part => part && !/^app(=|$)/.test(part)).join("&");
  return { room, app, path: [app, room].filter(Boolean).map(name => `/${encodeURIComponent(name)}`).join(""), query: rest && `?${rest}` };
}

/**
 * What stands behind # with another value of one word, and all others as they are.
 * @param {string} hash @param {string} name @param {string | null} value `null`: without it.
 */
export function withWord(hash, name, value) {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  if (value === null) words.delete(name);
  else words.set(name, value);
  return words.toString();
}

/** The address of a page for a room. @param {"watch" | "publish"} page @param {{room: string, app: string}} place */
export const pageOf = (page, { room, app }) =>
  `/${page}/${encodeURIComponent(room)}${app ? `?${new URLSearchParams({ app })}` : ""}`;

/** The app in the address of a room's HTTP-FLV, `/live/{app}/{room}.flv`; empty for the standard one. @param {string} flv */
export function appOf(flv) {
  const names = new URL(flv, "http://localhost").pathname.split("/").slice(2);
  return names.length > 1 ? decodeURIComponent(names[0]) : "";
}
