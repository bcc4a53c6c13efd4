// The player's decisions and messages, as pure functions: no clock, no browser.

/** Distances from the newest picture, in seconds. `back`: the farthest to which a viewer can seek. */
export const LIVE = { target: 1.2, slower: 0.35, drift: 1.8, faster: 3, jump: 8, back: 20 };

/**
 * Decides how to stay near the newest picture and skip gaps in the buffer.
 * @param {{ranges: [number, number][], now: number, rate: number, isBack?: boolean}} state Buffered ranges and current time in seconds; the rate
 *   that was set last; whether the viewer has gone back.
 * @returns {{seek: number | null, rate: number, lag: number}} `lag`: distance from the newest picture.
 */
export function steer({ ranges, now, rate, isBack = false }) {
  if (!ranges.length) return { seek: null, rate: 1, lag: 0 };
  const end = ranges.at(-1)[1], lag = end - now;
  if (lag > LIVE.jump + (isBack ? LIVE.back : 0) || lag < -1) return { seek: Math.max(ranges.at(-1)[0], end - LIVE.target), rate: 1, lag };
  // Browsers skip tiny gaps themselves.
  const isInside = ranges.some(([from, to]) => now >= from - 0.1 && now < to - 0.02);
  const next = isInside ? undefined : ranges.find(([from]) => from > now);
  if (next) return { seek: next[0] + 0.01, rate: 1, lag: end - next[0] };
  if (isBack) return { seek: null, rate: 1, lag };
  // Once changed, the rate stays until the target is reached, so that it does not oscillate at the limit.
  const isFar = lag > LIVE.target + 0.2;
  if (lag > LIVE.faster || (rate > 1.1 && isFar)) return { seek: null, rate: 1.15, lag };
  if (lag > LIVE.drift || (rate > 1 && isFar)) return { seek: null, rate: 1.05, lag };
  if (lag < LIVE.slower || (rate < 1 && lag < LIVE.target - 0.4)) return { seek: null, rate: 0.95, lag };
  return { seek: null, rate: 1, lag };
}

/** Seconds before the next attempt. @param {number} attempt 0, 1, … @param {number} random 0…1, which spreads viewers who reconnect. */
export const backOff = (attempt, random) => Math.min(8, 0.5 * 2 ** attempt) * (0.75 + random / 2);

/**
 * The time without packets after which a WebRTC connection is replaced, in ms. By then the server has ended the session, too. Browsers
 * report a failure only some 15 s later.
 */
export const ABSENCE = 3000;

/** An error response of the server. */
export class Refusal extends Error {
  /** @param {{title?: string, detail?: string, type?: string}} problem RFC 9457 */
  constructor(status, problem = {}, retryAfter = null) {
    super(problem.title ?? `The server answered ${status}`);
    Object.assign(this, { status, detail: problem.detail ?? "", code: (problem.type ?? "").split(":").at(-1), retryAfter });
  }

  /** @param {Response} answer */
  static async of(answer) {
    return new Refusal(answer.status, await answer.json().catch(() => ({})), Number(answer.headers.get("Retry-After")) || null);
  }
}

/** A program that this browser cannot decode. */
export class UnplayableError extends Error {}
/** A failure of a decoder or buffer; a new one may work. */
export class RebuildError extends Error {}

/**
 * @typedef {object} Verdict
 * @property {"waiting" | "ended" | "reconnecting" | "failed"} state
 * @property {string} message The sentence that viewers read.
 * @property {number | null} delay Seconds before the next attempt; `null` if there is no automatic one.
 */

/**
 * Decides what happens after a connection has ended.
 * @param {Error | null} error `null` if the stream ended without an error.
 * @param {{attempt: number, random: number, hasPlayed: boolean}} past @returns {Verdict}
 */
export function verdict(error, { attempt, random, hasPlayed }) {
  const delay = backOff(attempt, random);
  const say = (state, message, pause = delay) => ({ state, message, delay: pause });
  if (error instanceof UnplayableError) return say("failed", error.message, null);
  if (error instanceof RebuildError) return say("reconnecting", "Restarting the player…", attempt ? delay : 0);
  if (!error) return say("reconnecting", "The stream stopped. Reconnecting…", attempt ? delay : 0.2);
  if (!(error instanceof Refusal)) return say("reconnecting", "Connection lost. Reconnecting…");
  switch (error.status) {
    case 401: case 403:
      if (error.detail.includes("expired")) return say("failed", "This link has expired. Ask for a new one.", null);
      return say("failed", "This link is not valid for this program. Ask for a new one.", null);
    // Viewers who are refused together do not return together.
    case 404:
      if (error.code === "webrtc-off") return say("failed", "Playback over WebRTC is turned off on this server.", null);
      return hasPlayed ? say("ended", "The program has ended. If it resumes, it plays here automatically.", Math.max(delay, 3 + random))
        : say("waiting", "The program has not started yet. It plays here automatically when it does.", Math.max(delay, 2 + random));
    case 429: case 503: {
      const pause = Math.max((error.retryAfter ?? 0) * (1 + random / 4), delay);
      const reason = error.code === "viewers-full" ? "Too many people are watching right now." : "The server is busy.";
      return say("reconnecting", `${reason} Retrying in ${Math.ceil(pause)} s…`, pause);
    }
    default:
      if (error.status >= 500) return say("reconnecting", "The server reported an error. Retrying…");
      return say("failed", error.detail ? `${error.message}: ${error.detail}.` : `${error.message}.`, null);
  }
}

/** Returns the message for a codec that the browser cannot decode. @param {string} codec */
export function unplayable(codec) {
  const name = { hevc: "H.265", avc: "H.264", aac: "AAC" }[codec] ?? codec;
  return `This program is in ${name}, which this browser cannot play.`
    + (codec === "hevc" ? " Try Safari, or Chrome or Edge on a device with hardware decoding." : "");
}
