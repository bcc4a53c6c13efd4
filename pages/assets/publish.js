// The page /publish/{room}: publishes a camera, microphone or screen into a room, and shows its other participants.
//
// Parameters after # (or ?): `app`, for a room of another app, `user`, `token`, `live=1`, which goes live at once, and `figures`, which tells
// the console once a second what is shown; `auth_key` signs the address.
import { pageOf, placeOf } from "./page-room.js";
import { Awake } from "./publish-awake.js";
import { Devices, mayPass } from "./publish-devices.js";
import { People } from "./publish-people.js";
import { WHIPSession, WITHOUT_H264 } from "./publish-whip.js";
import { backOff } from "./player-policy.js";

const at = id => document.getElementById(id);
const words = new URLSearchParams(location.hash.slice(1) || location.search);
const place = placeOf(location, words), { room } = place;
const storage = {
  get: key => { try { return localStorage.getItem(key); } catch { return null; } },
  set: (key, value) => { try { localStorage.setItem(key, value); } catch { /* private windows */ } },
};
const say = text => { at("state").textContent = text; };
const headers = () => at("token").value.trim() ? { Authorization: `Bearer ${at("token").value.trim()}` } : {};
const isPressed = id => at(id).getAttribute("aria-pressed") === "true";
const query = words.has("auth_key") ? `?${new URLSearchParams({ auth_key: words.get("auth_key") })}` : "";

at("room").textContent = room;
document.title = `Publish in ${room}`;
at("watch").href = pageOf("watch", place);
at("user").value = words.get("user") || storage.get("user") || "";
at("token").value = words.get("token") || "";

/** @type {WHIPSession | null} */
let session = null;
const devices = new Devices({ camera: at("camera"), microphone: at("microphone") }, level => { at("level").value = level; });
const awake = new Awake();
const people = new People(at("tiles"), place, {
  headers, own: () => at("user").value.trim(), onChange: count => { at("hear").hidden = !count; },
});

function showState() {
  at("go").textContent = session ? "Stop" : "Go live";
  at("go").classList.toggle("live", session !== null);
  // The name identifies the own stream, which is not shown among the others.
  at("user").readOnly = session !== null;
  awake.set(session !== null);
}

async function goLive() {
  const user = at("user").value.trim(), kind = devices.isScreen ? "/screen" : "";
  storage.set("user", user);
  say("Connecting…");
  const own = session = new WHIPSession(
    `${place.root}/whip${place.path}/${encodeURIComponent(user)}${kind}${query}`, () => devices.stream, {
      headers, say,
      onRefused: refusal => {
        if (refusal.status === 401 || refusal.status === 403) {
          at("secret").hidden = false;
          at("token").focus();
        }
        say(refusal.status === 406 ? WITHOUT_H264 : refusal.detail || refusal.message);
      },
    });
  showState();
  await own.run();
  if (session === own) session = null;
  showState();
}

function stop() {
  session?.stop();
  session = null;
  showState();
  say("You are no longer live.");
}

/**
 * Sends the devices that are open now. Without any, the service would end the silent session, and the page would begin another
 * one, again and again.
 * @returns {boolean} Whether a live page has stopped.
 */
function sendDevices() {
  const isOver = session !== null && !devices.stream?.getTracks().length;
  if (isOver) stop();
  else session?.replaceTracks();
  return isOver;
}

at("form").addEventListener("submit", event => {
  event.preventDefault();
  if (session) {
    stop();
  } else if (devices.stream?.getTracks().length) goLive();
  else say("Allow access to your camera or microphone first.");
});

function toggle(id, [on, off], action) {
  at(id).addEventListener("click", () => {
    const isOn = !isPressed(id);
    at(id).setAttribute("aria-pressed", isOn);
    at(id).textContent = isOn ? off : on;
    action(isOn);
  });
}
const enable = (kind, isOff) => devices.stream?.getTracks()
  .filter(track => track.kind === kind).forEach(track => { track.enabled = !isOff; });
toggle("mute", ["Mute", "Unmute"], isOff => enable("audio", isOff));
toggle("hide", ["Turn off camera", "Turn on camera"], isOff => enable("video", isOff));
toggle("hear", ["Unmute others", "Mute others"], isHeard => people.hear(isHeard));

let complaint = "";
/** Shows a problem with the devices until it is solved. */
function complain(text) {
  complaint = text;
  say(text);
}

let choice = 0, isToGoLive = words.get("live") === "1";
/** Opens the selected devices. One that may become available is retried until another one is selected. */
async function reopen() {
  const own = choice += 1;
  for (let attempt = 0, isOpen = false; !isOpen; attempt += 1) {
    const [width, height] = at("size").value.split("x").map(Number);
    try {
      isOpen = await devices.open({ width, height }, { audio: isPressed("mute"), video: isPressed("hide") });
      if (!isOpen) return;
    } catch (error) {
      if (own !== choice) return;
      // Retrying would ask the user for a screen again and again.
      if (devices.isScreen || !mayPass(error)) {
        isToGoLive = false;
        return complain(`Cannot use this device: ${error.message}${sendDevices() ? ". You are no longer live." : ""}`);
      }
      complain(`Cannot use this device: ${error.message}. Retrying…`);
      await new Promise(resolve => setTimeout(resolve, 1000 * backOff(attempt, Math.random())));
      if (own !== choice) return;
    }
  }
  at("preview").srcObject = devices.stream;
  at("preview").classList.toggle("mirrored", !devices.isScreen);
  const { stream } = devices;
  for (const track of stream.getTracks()) {
    track.addEventListener("ended", async () => {
      if (devices.stream !== stream) return;
      await devices.lose(track);
      const device = track.kind === "video" ? "camera or screen share" : "microphone";
      complain(`The ${device} has stopped${sendDevices() ? ", so you are no longer live" : ""}. Choose another one.`);
    });
  }
  sendDevices();
  if (complaint && at("state").textContent === complaint) say("");
  if (isToGoLive) at("form").requestSubmit();
  isToGoLive = false;
}
for (const id of ["camera", "microphone", "size"]) at(id).addEventListener("change", reopen);
// A browser may restore the page from its cache.
addEventListener("pagehide", () => { if (session) stop(); });
document.addEventListener("visibilitychange", () => { if (!document.hidden) awake.renew(); });

if (navigator.mediaDevices) {
  reopen();
  navigator.mediaDevices.addEventListener("devicechange", () => devices.list());
} else {
  say("Camera access needs HTTPS. Open this page over HTTPS, or on localhost.");
}
people.follow();
if (words.has("figures")) {
  setInterval(() => console.log("PUBLISH " + JSON.stringify({ others: people.shown, words: at("state").textContent })), 1000);
}
