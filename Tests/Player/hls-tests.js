// Tests of the player in a browser without Media Source Extensions, which plays HLS itself.
import { check, equal } from "./checks.js";

delete globalThis.ManagedMediaSource;
delete globalThis.MediaSource;
const { fetch, setTimeout } = globalThis, { timeout } = AbortSignal;
const { CoStreamPlayer } = await import("../../pages/assets/player.js");

const SOURCE = "http://service.example/live/show.flv?task=main", PLAYLIST = "http://service.example/live/show/index.m3u8?task=main";

/** A service and a browser's player, in the places of the real ones. */
class Place {
  /** What the service answers; `null` if it does not. */
  status = 200;
  /** The duration of the playlist in seconds. Live ones have no end. */
  duration = Infinity;
  /** The requests, and the playlists that the video element was given. */
  asked = [];
  opened = [];
  player = new CoStreamPlayer();

  constructor() {
    globalThis.fetch = async (url, { method, signal }) => {
      this.asked.push(`${method} ${url}`);
      if (this.status) return new Response(null, { status: this.status });
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    };
    // A hundred seconds pass within one.
    globalThis.setTimeout = (body, time = 0) => setTimeout(body, time / 100);
    AbortSignal.timeout = time => timeout.call(AbortSignal, time / 100);
    Object.defineProperties(this.player.video, {
      src: { set: url => this.opened.push(url) },
      duration: { get: () => this.duration },
      play: { value: async () => { /* the test tells when it plays */ } },
    });
    this.player.setAttribute("src", SOURCE);
  }

  /** Puts the player into the page, where it begins at once. */
  open() { document.body.append(this.player); }

  /** Tells the player of an event of the video element. */
  tell(name) { this.player.video.dispatchEvent(new Event(name)); }

  async until(condition, what) {
    for (const begun = performance.now(); !condition(); await new Promise(resolve => setTimeout(resolve))) {
      check(performance.now() - begun < 30000, `${what}: ${this.player.state}, opened ${this.opened.length}`);
    }
  }

  close() {
    this.player.remove();
    Object.assign(globalThis, { fetch, setTimeout });
    Object.assign(AbortSignal, { timeout });
  }
}

const tests = {
  async "programs are waited for, reconnected to, and end"(place) {
    const { player, opened } = place;
    place.status = 404;
    place.open();
    await place.until(() => player.state === "waiting", "nothing on air");
    equal([opened, place.asked[0]], [[], `HEAD ${SOURCE}`], "asked");
    place.status = 200;
    await place.until(() => opened.length === 1, "on air");
    place.tell("playing");
    equal([opened, player.state], [[PLAYLIST], "playing"], "it plays");
    for (const count of [2, 3, 4]) {
      place.tell("error");
      await place.until(() => player.state === "reconnecting" && opened.length === count, "lost");
    }
    place.tell("playing");
    place.tell("error");
    await place.until(() => player.state === "reconnecting" && opened.length === 5, "lost later");
    place.tell("playing");
    place.status = 404;
    place.tell("ended");
    await place.until(() => player.state === "ended", "the end");
    place.status = 200;
    await place.until(() => opened.length === 6, "it resumes");
  },
  async "sessions that have ended are not played"(place) {
    const { player, opened } = place;
    place.duration = 30;
    place.open();
    for (const count of [1, 2]) {
      await place.until(() => opened.length === count, "on air");
      place.tell("loadedmetadata");
      await place.until(() => player.state === "waiting", "an earlier session");
    }
    await place.until(() => opened.length === 3, "the next attempt");
    place.duration = Infinity;
    place.tell("loadedmetadata");
    place.tell("playing");
    equal([player.state, opened.length], ["playing", 3], "the session on air");
    place.tell("ended");
    await place.until(() => opened.length === 4, "its end");
    place.duration = 30;
    place.tell("loadedmetadata");
    await place.until(() => player.state === "ended", "it is not played again");
  },
  async "a service that does not answer is asked again"(place) {
    place.status = null;
    place.open();
    await place.until(() => place.asked.length === 2 && place.player.state === "reconnecting", "no answer");
    place.status = 200;
    await place.until(() => place.opened.length === 1, "an answer");
  },
  async "a program without HLS is said to be none, and can be tried again"(place) {
    const { player, opened } = place;
    place.open();
    for (const count of [1, 2, 3, 4, 5, 6, 7]) {
      await place.until(() => opened.length === count, "on air");
      place.tell("error");
    }
    await place.until(() => player.state === "failed", "no playlist");
    check(player.message.endsWith("Try another browser."), player.message);
    player.toggle();
    equal(player.state, "connecting", "the first press");
    await place.until(() => opened.length === 8, "tried again");
  },
};

/** Runs all tests. @returns {Promise<{passed: number, failed: string[], seed: number}>} */
export async function run() {
  const failed = [];
  for (const [name, test] of Object.entries(tests)) {
    const place = new Place();
    try { await test(place); } catch (error) { failed.push(`${name}: ${error.message}`); } finally { place.close(); }
  }
  return { passed: Object.keys(tests).length - failed.length, failed, seed: 0 };
}
