// Negotiates WebRTC connections over HTTP: the common part of WHIP (RFC 9725) and WHEP.
import { Refusal } from "./player-policy.js";

/** The time for which candidates are collected before they are sent to the server, in ms. */
const COLLECTING = 100;
/** The longest time that a request may take, in ms. */
export const PATIENCE = 10000;

/**
 * Reads the STUN and TURN servers in `Link` headers (RFC 9725 §4.6).
 * @param {string | null} links Several headers, joined by commas. @returns {RTCIceServer[]}
 */
export function iceServers(links) {
  // A value is quoted, or a token (RFC 8288 §3).
  return [...(links ?? "").matchAll(/<([^>]+)>((?:\s*;\s*[\w-]+=(?:"(?:\\.|[^"\\])*"|[^\s;,"]+))*)/g)].flatMap(([, urls, rest]) => {
    const values = Object.fromEntries([...rest.matchAll(/([\w-]+)=(?:"((?:\\.|[^"\\])*)"|([^\s;,"]+))/g)]
      .map(([, name, quoted, token]) => [name.toLowerCase(), token ?? quoted.replace(/\\(.)/g, "$1")]));
    if (values.rel !== "ice-server") return [];
    return [values.username === undefined ? { urls } : { urls, username: values.username, credential: values.credential }];
  });
}

/** A connection in one direction. */
export class WebRTCSession {
  /**
   * Sends the offer of a connection that has its transceivers but no descriptions yet, and reads the answer.
   * The connection gathers candidates only afterwards, with the servers that the answer names.
   * @param {RTCPeerConnection} peer @param {string} url
   * @param {{headers: () => Record<string, string>, signal: AbortSignal}} request
   * @throws {Refusal} The service refused the session.
   */
  static async begin(peer, url, { headers, signal }) {
    const offer = await peer.createOffer();
    const answer = await fetch(url, {
      method: "POST", headers: { ...headers(), "Content-Type": "application/sdp" }, body: offer.sdp, signal });
    if (!answer.ok) throw await Refusal.of(answer);
    return new WebRTCSession(peer, offer, answer, headers);
  }

  constructor(peer, offer, answer, headers) {
    Object.assign(this, { peer, offer, answer, headers });
    this.resource = new URL(answer.headers.get("Location"), answer.url).href;
  }

  /** Starts the connection. Returns when both descriptions are set, which is before the two sides are connected. */
  async connect() {
    const servers = iceServers(this.answer.headers.get("Link"));
    if (servers.length) this.peer.setConfiguration?.({ ...this.peer.getConfiguration(), iceServers: servers });
    this.#tellCandidates();
    await this.peer.setLocalDescription(this.offer);
    await this.peer.setRemoteDescription({ type: "answer", sdp: await this.answer.text() });
  }

  /** Sends candidates as they are found (RFC 9725 §4.3.1): the service's TURN servers admit only known ones. */
  #tellCandidates() {
    const attributes = ["ice-ufrag", "ice-pwd"].map(name => this.offer.sdp.match(new RegExp(`^a=${name}:[^\r\n]*`, "m"))?.[0]);
    if (attributes.includes(undefined)) return;
    const tag = this.answer.headers.get("ETag");
    let found = [];
    this.peer.onicecandidate = ({ candidate }) => {
      if (!candidate?.candidate) return;
      if (found.push(candidate) > 1) return;
      setTimeout(() => {
        const lines = [...attributes, "m=audio 9 UDP/TLS/RTP/SAVPF 0", `a=mid:${found[0].sdpMid ?? 0}`, ...found.map(one => `a=${one.candidate}`)];
        found = [];
        if (this.peer.connectionState === "closed") return;
        this.#ask("PATCH", {
          headers: { ...this.headers(), "Content-Type": "application/trickle-ice-sdpfrag", ...tag && { "If-Match": tag } },
          body: `${lines.join("\r\n")}\r\n` });
      }, COLLECTING);
    };
  }

  /**
   * Ends the session at the service, even while the page is being closed.
   * @returns {Promise<Refusal | null>} The service's reason, if it had already ended the session.
   */
  async end() {
    const answer = await this.#ask("DELETE", { headers: this.headers(), keepalive: true });
    return answer && !answer.ok ? Refusal.of(answer) : null;
  }

  #ask(method, request) {
    return fetch(this.resource, { method, ...request, signal: AbortSignal.timeout(PATIENCE) }).catch(() => null);
  }
}
