// The page /watch/{room}, and /embed/{room} for frames of other sites.
//
// `?app=` is for a room of another app. The rest of the query goes on to the program (`?auth_key=…`, `?task=…`). Parameters after #: `webrtc` (plays over WHEP), `user=…` (this participant
// alone, over WHEP; with `stream=screen` the screen), `figures` (tells the console once a second what was shown), and for comments `as=…`, `name=…` (who writes),
// `post_key=…` and `stream_key=…` (the `auth_key` of the URLs that the app has signed).
import { isOpen, pauseBefore } from "./chat.js";
import "./player.js";
import { placeOf, withWord } from "./page-room.js";
import { Names, listed, nameOf } from "./watch-names.js";

/** The interval at which the number of viewers is read, in ms. */
const COUNTING = 15000;

const at = id => document.getElementById(id);
const { root, room, app, path, query } = placeOf(location);
const player = at("player"), source = `${root}/live${path}.flv${query}`;
const storage = {
  get: key => { try { return localStorage.getItem(key); } catch { return null; } },
  set: (key, value) => { try { localStorage.setItem(key, value); } catch { /* private windows */ } },
};
const words = () => new URLSearchParams(location.hash.slice(1));
/** Display names by identifier, as in the last layout. */
let called = new Map();

/** Plays the program or participant that the address names. */
function tune() {
  const user = words().get("user"), part = words().get("stream") === "screen" ? "/screen" : "";
  // The first of two names after /whep is a room; programs of other apps are played next to their HTTP-FLV.
  const whep = user ? `/whep${path}/${encodeURIComponent(user)}${part}` : app ? `/live${path}.whep` : `/whep${path}`;
  const name = called.get(user) ?? user;
  document.title = `${name ?? room} – live`;
  if (at("room")) at("room").textContent = user ? `${name} in ${room}` : room;
  if (at("back")) at("back").hidden = !user;
  tellPeople(null);
  if (user || words().has("webrtc")) player.setAttribute("whep", root + whep + query);
  else player.removeAttribute("whep");
  player.setAttribute("src", source);
}

function tellPeople(layout) {
  const people = new Map((layout?.regions ?? []).slice(0, 64).map(region => [region.uid, nameOf(region)]));
  if (people.size) called = people;
  const text = people.size ? `On air: ${listed([...people.values()])}` : "";
  if (at("people") && at("people").textContent !== text) at("people").textContent = text;
}

/** Plays a participant's camera or screen alone; `null` is the program. */
function watch(user, stream) {
  location.hash = withWord(withWord(location.hash, "user", user), "stream", stream === "screen" ? stream : null);
}

// The service writes into the page whether it plays participants to viewers without a token.
const names = new Names(at("names"), player, document.documentElement.dataset.alone === "off" ? null : watch);
player.addEventListener("layout", ({ detail }) => {
  names.show(detail);
  tellPeople(detail);
});
player.addEventListener("statechange", ({ detail }) => {
  const badge = at("badge");
  if (!badge) return;
  const state = { playing: "Live", stalled: "Live", connecting: "Connecting", reconnecting: "Connecting", paused: "Paused", ended: "Ended" };
  badge.textContent = state[detail.state] ?? "Offline";
  badge.classList.toggle("live", player.isLive);
});
player.video.addEventListener("resize", () => {
  const { videoWidth: width, videoHeight: height } = player.video;
  if (width && height && !document.body.classList.contains("embed")) player.style.aspectRatio = `${width} / ${height}`;
});

// Shortcuts work unless a control has the focus.
document.addEventListener("keydown", event => {
  if (event.target === document.body) player.handleKey(event);
});
const volume = Number(storage.get("volume") ?? 1);
if (volume >= 0 && volume <= 1) player.video.volume = volume;
player.video.addEventListener("volumechange", () => storage.set("volume", String(player.video.volume)));
at("back")?.addEventListener("click", () => watch(null));
addEventListener("hashchange", tune);

/** Shows the room's chat, unless it is turned off or this visitor has no access. */
async function addChat() {
  const place = at("beside"), given = words(), key = given.get("stream_key");
  if (!place) return;
  const url = `${root}/v1/rooms/${encodeURIComponent(room)}/messages${app ? `?${new URLSearchParams({ app })}` : ""}`;
  for (let attempt = 0, isThere = Boolean(key); !isThere; attempt += 1) {
    isThere = await isOpen(await fetch(url, { cache: "no-store" }).catch(() => null));
    if (isThere === false) return;
    if (!isThere) await new Promise(resolve => setTimeout(resolve, pauseBefore(attempt, Math.random())));
  }
  const chat = document.createElement("room-chat");
  const attributes = { base: location.origin + root, room, app, user: given.get("as"), name: given.get("name"),
    "post-key": given.get("post_key"), "stream-key": key };
  for (const [name, value] of Object.entries(attributes)) if (value) chat.setAttribute(name, value);
  place.append(chat);
}

/** Shows the number of viewers. */
async function count() {
  if (document.hidden || !at("viewers")) return;
  const answer = await fetch(source, { method: "HEAD", cache: "no-store" }).catch(() => null);
  const viewers = answer?.ok ? Number(answer.headers.get("Program-Viewers")) : 0;
  at("viewers").hidden = !viewers;
  at("viewers").textContent = `${viewers.toLocaleString()} watching`;
}
addChat();
setInterval(count, COUNTING);
player.video.addEventListener("playing", () => setTimeout(count, 1000));

if (words().has("figures")) {
  setInterval(() => {
    const { video, figures } = player, quality = video.getVideoPlaybackQuality();
    console.log("WATCH " + JSON.stringify({ ...figures, shown: quality.totalVideoFrames - quality.droppedVideoFrames,
      dropped: quality.droppedVideoFrames, size: `${video.videoWidth}x${video.videoHeight}`, behind: player.latency, state: player.state,
      people: at("people")?.textContent, names: Array.from(document.querySelectorAll("#names .pane .name"), name => name.textContent), viewers: at("viewers")?.textContent, words: player.state === "playing" ? `Live: ${room}` : player.message }));
  }, 1000);
}
tune();
