// Shows the other participants of the room, each over a WebRTC connection of its own (WHEP) with less than half a second of delay.
import { WHEPSession } from "./player-whep.js";
import { backOff } from "./player-policy.js";
import { WITHOUT_H264 } from "./publish-whip.js";

/** The interval at which the participants are read, normally and after a refusal, in ms. */
const LOOK = 2000, REFUSED = 30000;
/** Most participants that are shown at a time. Each one needs a decoder on this machine. */
const MOST = 8;

/**
 * Returns the participants with a live camera from a response about the room.
 * @param {Response | null} answer @returns {Promise<{user: string, name?: string}[] | null>} `null` if nothing is known; the shown ones stay.
 */
export async function publishersIn(answer) {
  if (answer && [401, 403, 404, 421].includes(answer.status)) return [];
  const room = answer?.ok ? await answer.json().catch(() => null) : null;
  return room?.participants?.filter(({ streams }) => streams.some(stream => stream.stream === "camera" && stream.state === "live")) ?? null;
}

/** Returns the participants on air from a response about the room's channel; like `publishersIn`. @param {Response | null} answer */
export async function onAirIn(answer) {
  if (!answer || answer.status >= 500 || answer.status === 429) return null;
  const channel = answer.ok ? await answer.json().catch(() => null) : { state: { onAir: { people: [] } } };
  return channel?.state.onAir.people.map(user => ({ user })) ?? null;
}

/** The tile of another participant. */
class Tile {
  #abort = new AbortController();

  /** @param {{user: string, name?: string}} person @param {string} url @param {() => Record<string, string>} headers */
  constructor(person, url, headers) {
    this.element = document.createElement("li");
    this.element.className = "tile";
    this.video = document.createElement("video");
    this.video.playsInline = this.video.autoplay = this.video.muted = true;
    this.video.setAttribute("aria-label", person.name || person.user);
    const name = document.createElement("span");
    name.className = "name";
    this.note = document.createElement("span");
    this.note.className = "note";
    this.note.textContent = "Connecting…";
    this.element.append(this.video, this.note, name);
    this.name = name;
    this.rename(person);
    this.#run(url, headers);
  }

  rename(person) { this.name.textContent = person.name || person.user; }

  async #run(url, headers) {
    const { signal } = this.#abort;
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      const session = new WHEPSession(this.video, url, {
        onConnect: () => {}, onReady: () => { attempt = 0; this.note.textContent = ""; }, headers });
      await session.run(signal).catch(error => {
        // Without WebRTC for viewers, or H.264 in this browser, the tile keeps the name and stops asking.
        if (error.code === "webrtc-off" || [401, 403, 406].includes(error.status)) this.#abort.abort();
        this.note.textContent = error.status === 406 ? WITHOUT_H264 : error.detail || "No video. Reconnecting…";
      });
      if (!signal.aborted) await new Promise(resolve => setTimeout(resolve, 1000 * backOff(attempt, Math.random())));
    }
  }

  close() {
    this.#abort.abort();
    this.element.remove();
  }
}

export class People {
  /** @type {Map<string, Tile>} */
  #tiles = new Map();
  #isHeard = false;
  /** The last refusal to show the room: its status, the token, and the time before which the request is not repeated. */
  #refused = { status: 0, token: "", until: 0 };

  /**
   * @param {HTMLElement} list @param {import("./page-room.js").Place} place
   * @param {{headers: () => Record<string, string>, own: () => string, onChange: (count: number) => void}} page
   */
  constructor(list, place, page) { Object.assign(this, { list, place, page }); }

  /** The participants that are shown, with the number of frames rendered so far. @returns {{user: string, pictures: number}[]} */
  get shown() {
    return [...this.#tiles].map(([user, { video }]) => ({ user, pictures: video.getVideoPlaybackQuality().totalVideoFrames }));
  }

  /** Mutes or unmutes all tiles. @param {boolean} isHeard */
  hear(isHeard) {
    this.#isHeard = isHeard;
    for (const { video } of this.#tiles.values()) video.muted = !isHeard;
  }

  /** Keeps reading the participants, as far as this page has access. */
  async follow() {
    for (;;) {
      const found = document.hidden ? null : await this.#look();
      if (found) this.#show(found);
      await new Promise(resolve => setTimeout(resolve, LOOK));
    }
  }

  async #look() {
    const { root, room, app } = this.place, headers = this.page.headers(), token = headers.Authorization ?? "";
    const query = app && `?${new URLSearchParams({ app })}`;
    const ask = (what, options) => fetch(`${root}/v1/rooms/${encodeURIComponent(room)}${what}${query}`, options).catch(() => null);
    // Requests without a valid token count against the IP address, which others may share.
    if (token !== this.#refused.token || performance.now() > this.#refused.until) {
      const answer = await ask("", { headers });
      if (![401, 403].includes(answer?.status)) return publishersIn(answer);
      this.#refused = { status: answer.status, token, until: performance.now() + REFUSED };
    }
    // A token for publishing does not give access to the room, but its channel shows who is on air.
    return this.#refused.status === 403 ? onAirIn(await ask("/messages")) : [];
  }

  #show(participants) {
    const people = participants.filter(({ user }) => user !== this.page.own()).slice(0, MOST);
    for (const [user, tile] of this.#tiles) {
      if (people.some(person => person.user === user)) continue;
      tile.close();
      this.#tiles.delete(user);
    }
    for (const person of people) {
      const known = this.#tiles.get(person.user);
      if (known) {
        known.rename(person);
        continue;
      }
      const url = `${this.place.root}/whep${this.place.path}/${encodeURIComponent(person.user)}`;
      const tile = new Tile(person, url, this.page.headers);
      tile.video.muted = !this.#isHeard;
      this.#tiles.set(person.user, tile);
      this.list.append(tile.element);
    }
    this.page.onChange(this.#tiles.size);
  }
}
