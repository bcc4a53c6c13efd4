// Who is in the room, and how their streams arrive.
import { h } from "./console-dom.js";
import { panel, pill } from "./console-ui.js";

const STATES = {
  connecting: "connecting", live: "live", stalled: "stalled: no data arrives", recovering: "connecting again", failed: "failed",
};

/** @param {any} room */
export function peoplePanel(room) {
  const people = room.participants;
  const sources = new Map((room.task?.sources ?? []).map(source => [source.id, source]));
  return panel(`People (${people.length})`, { id: "people" },
    people.length ? h("ul", { class: "list" }, people.map(person => row(person, room, sources)))
      : h("p", { class: "empty" }, "Nobody is here. Whoever publishes to this room appears at once."));
}

function row(person, room, sources) {
  const isHost = (room.task?.host ?? room.host) === person.user;
  return h("li", { key: person.user },
    h("div", { class: "row" }, h("span", { class: "avatar", "aria-hidden": "true" }, (person.name ?? person.user).slice(0, 1).toUpperCase()),
      h("div", { class: "grow" }, h("strong", null, person.name ?? person.user), person.name ? h("span", { class: "quiet" }, ` ${person.user}`) : null,
        isHost ? h("span", { class: "tag" }, "host") : null),
      person.streams.length ? null : h("span", { class: "quiet small" }, "no stream")),
    person.streams.map(stream => {
      const source = sources.get(`${person.user}/${stream.stream}`);
      const muted = [stream.video ? null : "camera off", stream.audio ? null : "muted"].filter(Boolean).join(", ");
      return h("div", { class: "stream" },
        h("span", null, stream.stream), stream.state ? pill(STATES[stream.state] ?? stream.state, stream.state) : pill("not pulled"),
        source?.usesBackup ? pill("backup", "connecting") : null, muted ? h("span", { class: "quiet small" }, muted) : null,
        h("span", { class: "quiet small url" }, stream.url),
        stream.error ?? source?.error ? h("p", { class: "bad small" }, stream.error ?? source.error) : null,
        source?.poor ? h("p", { class: "warn small" }, source.poor) : null);
    }));
}
