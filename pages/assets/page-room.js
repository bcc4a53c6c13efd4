// Reads a page's room from its URL: /watch/{room}, or /watch/{room}?app={app} for a room of an app other than the default one. A proxy
// may have the service below a path: /live-rooms/watch/{room}.

/**
 * @typedef {object} Place
 * @property {string} root The path below which the service is; see `rootOf`.
 * @property {string} room @property {string} app Empty for the default app, or that of the page's token.
 * @property {string} path The room's path after /live, /whip and /whep: `/{room}` or `/{app}/{room}`.
 * @property {string} query The rest of the page's query, as `?…`, or empty.
 */

/**
 * Returns the path below which the service is, without a slash at its end: empty if the service has the whole host.
 * @param {string} pathname The page's path. @param {number} depth Number of names in the page's path at the service.
 */
export const rootOf = (pathname, depth) => pathname.split("/").filter(Boolean).slice(0, -depth).map(name => `/${name}`).join("");

/**
 * Reads the page's URL.
 * @param {{pathname: string, search: string}} address @param {URLSearchParams} [words] May also name the app.
 * @returns {Place}
 */
export function placeOf({ pathname, search }, words) {
  const app = words?.get("app") ?? new URLSearchParams(search).get("app") ?? "";
  const room = decodeURIComponent(pathname.split("/").filter(Boolean).at(-1) ?? "");
  // The rest is not decoded, so that signatures stay valid.
  const rest = search.replace(/^\?/, "").split("&").filter(part => part && !/^app(=|$)/.test(part)).join("&");
  return { root: rootOf(pathname, 2), room, app, path: [app, room].filter(Boolean).map(name => `/${encodeURIComponent(name)}`).join(""), query: rest && `?${rest}` };
}

/**
 * Returns a URL fragment with one parameter changed and all others kept.
 * @param {string} hash @param {string} name @param {string | null} value `null` removes the parameter.
 */
export function withWord(hash, name, value) {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  if (value === null) words.delete(name);
  else words.set(name, value);
  return words.toString();
}

/** Returns the path of a page for a room. @param {"watch" | "publish"} page @param {{root: string, room: string, app: string}} place */
export const pageOf = (page, { root, room, app }) =>
  `${root}/${page}/${encodeURIComponent(room)}${app ? `?${new URLSearchParams({ app })}` : ""}`;

/** Returns the app in a room's HTTP-FLV URL, `/live/{app}/{room}.flv`; empty for the default app. @param {string} flv */
export function appOf(flv) {
  const names = new URL(flv, "http://localhost").pathname.split("/").slice(2);
  return names.length > 1 ? decodeURIComponent(names[0]) : "";
}
