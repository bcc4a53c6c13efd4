// A client of the service's HTTP API, with token, app, problems (RFC 9457) and entity tags.

/**
 * @typedef {object} Issue An error in a layout.
 * @property {string} path @property {number} line @property {number} column In bytes, from 1.
 * @property {string} found @property {string} expected @property {string} [suggestion]
 */

/** An error response, or no response at all (`status` 0). */
export class Problem extends Error {
  /** @param {number} status @param {Record<string, any>} body */
  constructor(status, body) {
    super(body.title ?? `The service returned status ${status}`);
    this.status = status;
    this.title = this.message;
    this.detail = body.detail ?? "";
    this.type = body.type ?? "";
    this.field = body.field;
    this.expected = body.expected;
    /** @type {Issue[]} */
    this.issues = body.issues ?? [];
    this.checks = body.checks;
  }
  /** Whether the service could not be reached. */
  get isLost() { return this.status === 0; }
  /** Whether someone else has changed the resource in the meantime. */
  get isConflict() { return this.status === 412; }
}

/** @typedef {{ status: number, data: any, etag: string | null, text: string }} Answer */

const KEY = "console.token", APP = "console.app";

export class Api {
  /** Called when a token is missing or insufficient. If it returns `true`, the request is repeated. */
  onDenied = async problem => false;
  /** Called with whether the service is reachable. */
  onReach = isReached => {};
  #asking = null;
  /** The token for which nobody wanted to give another one; empty for none, `null` if nobody was asked. */
  #declined = null;

  /** @param {string} root The path below which the service is; see `rootOf`. */
  constructor(root = "") {
    this.root = root;
    this.token = sessionStorage.getItem(KEY) ?? "";
    this.app = sessionStorage.getItem(APP) ?? "";
  }

  /** Keeps the token for this tab until it is closed. @param {string} token @param {string} app */
  signIn(token, app) {
    Object.assign(this, { token, app });
    sessionStorage.setItem(KEY, token);
    sessionStorage.setItem(APP, app);
  }

  /** Returns the URL of a path of the service. @param {string} path @param {Record<string, any>} [query] */
  url(path, query = {}) {
    const words = new URLSearchParams();
    for (const [name, value] of Object.entries({ app: this.app || null, ...query })) {
      if (value !== null && value !== undefined && value !== "") words.set(name, value);
    }
    // Paths outside /v1 take no app.
    if (!path.startsWith("/v1/")) words.delete("app");
    return this.root + (words.size ? `${path}?${words}` : path);
  }

  headers(more = {}) { return this.token ? { Authorization: `Bearer ${this.token}`, ...more } : more; }

  /**
   * @param {string} method @param {string} path
   * @param {{ body?: any, raw?: string, type?: string, etag?: string, absent?: boolean, accept?: string, query?: Record<string, any>,
   *   signal?: AbortSignal, quiet?: boolean }} [options] `absent`: only if the resource does not exist; `quiet`: without asking to log in.
   * @returns {Promise<Answer>} @throws {Problem}
   */
  async call(method, path, options = {}) {
    const { body, raw, type = "application/json", etag, absent, accept, query, signal, quiet } = options;
    const headers = this.headers(), { token } = this;
    const content = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    if (content !== undefined) headers["Content-Type"] = type;
    if (etag) headers["If-Match"] = etag;
    if (absent) headers["If-None-Match"] = "*";
    if (accept) headers.Accept = accept;
    let response, text;
    try {
      response = await fetch(this.url(path, query), { method, headers, body: content, signal, cache: "no-store" });
      text = await response.text();
    } catch (error) {
      if (signal?.aborted) throw error;
      this.onReach(false);
      throw new Problem(0, { title: "The service cannot be reached", detail: "Nothing was changed. The console keeps trying to reconnect." });
    }
    this.onReach(true);
    const kind = response.headers.get("Content-Type") ?? "", isJSON = kind.includes("json");
    // A proxy that wants a login answers with its page and status 200.
    if (response.ok && kind.includes("text/html")) {
      throw new Problem(response.status, { title: "The service did not answer", detail: "A page came instead, possibly a proxy’s login. Reload the console." });
    }
    let data = null;
    try { data = isJSON && text ? JSON.parse(text) : null; } catch { /* the status tells */ }
    if (response.ok) return { status: response.status, data, etag: response.headers.get("ETag"), text };
    const problem = new Problem(response.status, data ?? {});
    if (!quiet && [401, 403].includes(problem.status) && await this.ask(problem, token, method === "GET")) return this.call(method, path, options);
    throw problem;
  }

  /**
   * Asks once for all requests that need a login.
   * @param {Problem} problem @param {string} token The token of the refused request, which may have been replaced since.
   * @param {boolean} isReading What the page does by itself: who has said no is not asked every few seconds.
   * @returns {Promise<boolean>} Whether to repeat the request.
   */
  async ask(problem, token, isReading) {
    if (token !== this.token) return true;
    if (isReading && token === this.#declined) return false;
    this.#asking ??= this.onDenied(problem).finally(() => { this.#asking = null; });
    const isGiven = await this.#asking;
    this.#declined = isGiven ? null : token;
    return isGiven;
  }

  /**
   * Fetches a picture. A missing one is no error, because there are many harmless reasons for it.
   * @param {string} path @param {{ etag?: string | null, signal?: AbortSignal }} options
   * @returns {Promise<{ blob: Blob, etag: string | null } | "same" | null>}
   */
  async picture(path, { etag, signal } = {}) {
    try {
      const response = await fetch(this.url(path), { headers: this.headers(etag ? { "If-None-Match": etag } : {}), signal, cache: "no-store" });
      if (response.status === 304) return "same";
      return response.ok ? { blob: await response.blob(), etag: response.headers.get("ETag") } : null;
    } catch {
      return null;
    }
  }

  /** Downloads a file with the token. @param {string} path @returns {Promise<Blob>} @throws {Problem} */
  async file(path) {
    const response = await fetch(this.url(path), { headers: this.headers(), cache: "no-store" }).catch(() => null);
    const body = await (response?.ok ? response.blob() : response?.json())?.catch(() => null);
    if (response?.ok && body) return body;
    throw new Problem(response?.ok ? 0 : response?.status ?? 0, body ?? { title: "The file could not be loaded", detail: "The connection was lost." });
  }

  /** Returns the levels of a task's program and sources; `null` if they are unknown. @param {string} task Path of the task. @param {{ signal?: AbortSignal }} options */
  async levels(task, { signal } = {}) {
    try {
      const response = await fetch(this.url(`${task}/levels`), { headers: this.headers(), signal, cache: "no-store" });
      return response.ok ? await response.json() : null;
    } catch {
      return null;
    }
  }

  get(path, options) { return this.call("GET", path, options); }

  /** Sends a merge patch (RFC 7396). */
  patch(path, body, etag) { return this.call("PATCH", path, { body, etag, type: "application/merge-patch+json" }); }
}

/** Escapes a name for use in a path. @param {string} name */
export const part = name => encodeURIComponent(name);
