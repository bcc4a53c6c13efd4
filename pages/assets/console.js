// The operators' console: its frame, login, and the view for the URL. docs/console.md describes it.
import { Api, Problem } from "./console-api.js";
import { announce, dialog, h, render } from "./console-dom.js";
import { LayoutEditorView } from "./console-layout-editor.js";
import { LayoutsView } from "./console-layouts.js";
import { RoomView } from "./console-room.js";
import { RoomsView } from "./console-rooms.js";
import { ServiceView } from "./console-service.js";
import { field, problemBox } from "./console-ui.js";
import { WebhookView } from "./console-webhook.js";
import { WebhooksView } from "./console-webhooks.js";
import { rootOf } from "./page-room.js";

const SECTIONS = [["rooms", "Rooms"], ["layouts", "Layouts"], ["webhooks", "Webhooks"], ["service", "Service"]];
const VIEWS = {
  rooms: [RoomsView, RoomView], layouts: [LayoutsView, LayoutEditorView], webhooks: [WebhooksView, WebhookView], service: [ServiceView, ServiceView],
};

const at = id => document.getElementById(id);
const api = new Api(rootOf(location.pathname, 1));
let view = null;

/** Returns the section and name in the URL, as in `#/rooms/demo`. */
function place() {
  const [, section = "rooms", name = ""] = location.hash.split("/");
  let decoded = "";
  try { decoded = decodeURIComponent(name); } catch { /* not a name */ }
  return { section: VIEWS[section] ? section : "rooms", name: decoded };
}

/** Shows the view for the URL. Focus moves to it, except on the first page. */
function show(isFirst = false) {
  const { section, name } = place();
  if (view?.mayLeave && !view.mayLeave()) return history.replaceState(null, "", view.hash);
  view?.close();
  render(at("nav"), SECTIONS.map(([id, label]) => h("a", { href: `#/${id}`, "aria-current": id === section ? "page" : null }, label)));
  const root = at("main");
  root.replaceChildren();
  document.title = `${name || SECTIONS.find(([id]) => id === section)[1]} – Console`;
  const [List, One] = VIEWS[section];
  view = name ? new One({ api, root, name }) : new List({ api, root });
  view.hash = location.hash || "#/rooms";
  view.open();
  if (!isFirst) root.focus();
}

/** Asks for a token. @param {Problem | null} problem @returns {Promise<boolean>} Whether one was entered. */
async function logIn(problem) {
  const answer = await dialog("Log in", close => {
    const token = h("input", { id: "login-token", type: "password", autocomplete: "current-password", required: true, maxlength: "512" });
    const app = h("input", { id: "login-app", autocomplete: "off", placeholder: "default", maxlength: "64", value: api.app });
    return h("form", { method: "dialog", on: { submit: event => { event.preventDefault(); close({ token: token.value.trim(), app: app.value.trim() }); } } },
      problemBox(problem),
      field("Token", token, "Sent as a bearer token, kept only in this tab until you close it, and never put into a URL."),
      field("App", app, "Only for a service without tokens. Otherwise, the token determines the app."),
      h("div", { class: "row end" }, h("button", { type: "button", on: { click: () => close() } }, "Cancel"),
        h("button", { class: "primary" }, "Log in")));
  });
  if (!answer) return false;
  api.signIn(answer.token, answer.app);
  drawWho();
  return true;
}

function drawWho() {
  const chooseApp = async () => {
    const app = await dialog("Choose an app", close => {
      const input = h("input", { id: "chosen-app", value: api.app, placeholder: "default", maxlength: "64", autocomplete: "off" });
      return h("form", { method: "dialog", on: { submit: event => { event.preventDefault(); close(input.value.trim()); } } },
        field("App", input, "Rooms, tasks and webhooks belong to an app; layouts are shared."),
        h("div", { class: "row end" }, h("button", { type: "button", on: { click: () => close() } }, "Cancel"), h("button", { class: "primary" }, "Choose")));
    });
    if (app === undefined) return;
    api.signIn(api.token, app);
    drawWho();
    show();
  };
  render(at("who"),
    api.token ? null : h("button", { type: "button", class: "plain", on: { click: chooseApp } }, `App: ${api.app || "default"}`),
    api.token
      ? h("button", { type: "button", class: "plain", on: { click: () => { api.signIn("", ""); location.reload(); } } }, "Log out")
      : h("button", { type: "button", class: "plain", on: { click: async () => { if (await logIn(null)) show(); } } }, "Log in"));
}

let isLost = false;
api.onReach = isReached => {
  if (isReached !== isLost) return;
  isLost = !isReached;
  at("lost").hidden = !isLost;
  at("lost").textContent = isLost ? "Connection to the service lost. This page may be out of date. Reconnecting…" : "";
  if (!isLost) announce("Connection to the service restored.");
};
api.onDenied = logIn;

addEventListener("hashchange", () => { if (location.hash !== "#main") show(); });
addEventListener("beforeunload", event => { if (view?.hasChanges?.()) event.preventDefault(); });
document.querySelector(".skip").addEventListener("click", event => { event.preventDefault(); at("main").focus(); });
drawWho();
show(true);
