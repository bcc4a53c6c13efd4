// Texts of the console: states, times and sizes.

const plural = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;
export { plural };

const MODES = { bypass: "Bypass", mix: "Mix", slate: "Slate" };
/** @param {string | undefined} mode */
export const mode = mode => MODES[mode] ?? "Off air";

/** Joins names in a sentence. @param {string[]} names */
export function listed(names) {
  if (names.length < 3) return names.join(" and ");
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

const WAITING = {
  stream: "It starts with the next stream.",
  output: "It starts once the room has an output or a viewer's destination.",
  capacity: "It is waiting for free cores on this machine.",
  schedule: "It starts at its scheduled time.",
};
const ENDS = {
  idle: "no participant was on air for too long", roomClosed: "the room was closed", requested: "an operator ended it", hostLeft: "the host left",
  noOutputs: "it had no outputs", roomDeleted: "the room was deleted", noCapacity: "no cores were free", scheduled: "its scheduled time is over",
};

/** Describes what is on air in a sentence. @param {any} room */
export function onAir(room) {
  const task = room.task;
  if (!task) return room.outputs.length ? "No program yet. It starts with the next stream." : "No program: the room has no outputs.";
  if (task.state === "failed") return `The program has failed. ${task.lastError ?? ""}`;
  if (task.state === "starting") return "The program is starting.";
  if (task.state === "recovering") return `The program is recovering. ${task.lastError ?? ""}`;
  if (task.state === "stopped") {
    const reason = ENDS[task.endReason] ? `The program ended: ${ENDS[task.endReason]}.` : "The program is not running.";
    return `${reason} ${WAITING[task.waitingFor] ?? ""}`;
  }
  if (task.onAir === "bypass") return `Viewers get ${task.host ?? "one participant"}’s own stream, copied without re-encoding.`;
  if (task.onAir === "mix") {
    const people = [...new Set((task.scene?.panes ?? []).map(pane => pane.user))];
    const fps = task.degradation ? ` The machine is busy: ${task.degradation.reason}.` : "";
    return `Viewers get a mix of ${people.length > 1 ? listed(people) : people[0] ?? "no participants yet"}.${fps}`;
  }
  if (task.idle?.state === "playing") return `No participant is on air. Viewers see ${task.idle.media ?? "idle media"}.`;
  return "No participant is on air. Viewers see the slate.";
}

/** Returns the colour class of a state. @param {string | undefined} state @returns {"good" | "bad" | "busy" | "quiet"} */
export function tone(state) {
  if (["live", "good", "running", "active", "delivered", "recording", "bypass", "mix", "complete"].includes(state)) return "good";
  if (["failed", "broken", "dead", "failing", "interrupted"].includes(state)) return "bad";
  if (["connecting", "recovering", "stalled", "starting", "waiting"].includes(state)) return "busy";
  return "quiet";
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** Formats a local time of day, with the date unless it is today. @param {string} time */
export function at(time) {
  const date = new Date(time);
  return (date.toDateString() === new Date().toDateString() ? clock : day).format(date);
}

/** @param {number} seconds */
export function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds)), hours = Math.floor(whole / 3600), minutes = Math.floor(whole % 3600 / 60);
  if (hours) return `${hours} h ${minutes} min`;
  return minutes ? `${minutes} min ${whole % 60} s` : `${whole} s`;
}

/** @param {string} time */
export const since = time => duration((Date.now() - Date.parse(time)) / 1000);

/** @param {number} count */
export function bytes(count) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const step = count < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(count) / 3));
  const value = count / 1000 ** step;
  return `${step && value < 100 ? value.toFixed(1) : Math.round(value)} ${units[step]}`;
}

/** @param {number | undefined} value */
export function milliseconds(value) {
  if (value === undefined || value === null) return "–";
  if (value >= 10000) return `${Number((value / 1000).toFixed(1))} s`;
  return `${value < 100 ? Number(value.toFixed(1)) : Math.round(value)} ms`;
}

/** Returns the share of a meter for a peak, 0…1; the meter spans 60 dB. @param {number | undefined} peak In dB below full scale. */
export const loudness = peak => Math.max(0, Math.min(1, 1 + (peak ?? -60) / 60));

/** @param {{ peak?: number, rms?: number }} level */
export function decibels({ peak, rms }) {
  if (peak === undefined || rms === undefined) return "no audio";
  return peak <= -99 ? "silent" : `peak ${peak.toFixed(1)} dB, RMS ${rms.toFixed(1)} dB`;
}

const EVENTS = {
  "stream.published": "$ started", "stream.unpublished": "$ stopped", "stream.updated": "$ changed",
  "participant.joined": "$ joined", "participant.left": "$ left", "room.opened": "The room was opened", "room.closed": "The room was closed",
};

/** Rewrites a timeline message for operators. @param {string} message */
export function plain(message) {
  const [, topic, rest] = /^([a-z]+\.[a-zA-Z]+) ?(.*)$/.exec(message) ?? [];
  if (EVENTS[topic]) return EVENTS[topic].replace("$", () => rest.replace(/^(\S+)\/(camera|screen|audio)/, "$1’s $2"));
  return message.replace(/^on air: /, "").replace(/(\d+(?:\.\d+)?) ms/g, (_, figure) => milliseconds(Number(figure)));
}
