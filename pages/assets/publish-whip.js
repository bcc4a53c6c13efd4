// Publishes over WebRTC (WHIP, RFC 9725), and keeps publishing until it is stopped.
import { ABSENCE, Refusal, backOff } from "./player-policy.js";
import { WebRTCSession } from "./player-webrtc.js";

/** Longest time to wait for the server's response, and then for the connection, in ms. */
const PATIENCE = 10000;
/** The time after which a connection counts as good, in ms. One that ends sooner is retried with growing delays. */
const GOOD = 10000;
/**
 * The message for 406, the answer to an offer of these pages without H.264. Firefox has H.264 for WebRTC once it has loaded OpenH264,
 * which begins soon after its first start.
 */
export const WITHOUT_H264 = "This browser has no H.264 for WebRTC yet. Firefox loads it within minutes of its first start: reload this page then, or try another browser.";

export class WHIPSession {
  /** Whether the page should be live. Connections follow it. */
  #isWanted = true;
  #peer = null;
  #session = null;
  #over = null;

  /**
   * @param {string} url
   * @param {() => MediaStream} media Returns the stream to send.
   * @param {{headers: () => Record<string, string>, say: (words: string) => void, onRefused: (refusal: Refusal) => void}} events
   */
  constructor(url, media, events) { Object.assign(this, { url, media, events }); }

  /** Publishes until `stop()`, or until the server refuses it for good. */
  async run() {
    for (let attempt = 0; this.#isWanted; attempt += 1) {
      const begun = performance.now();
      try {
        await this.#publish();
        if (performance.now() - begun > GOOD) attempt = 0;
        if (this.#isWanted) this.events.say("Connection lost. Reconnecting…");
      } catch (error) {
        if (error instanceof Refusal && error.status < 500 && error.status !== 429) this.#refuse(error);
        else if (this.#isWanted) this.events.say(`${error.detail || error.message}. Retrying…`);
      }
      const end = await this.#end();
      // Otherwise two pages would take the stream from each other for ever.
      if (end?.code === "whip-stream-replaced") this.#refuse(end);
      else if (end?.code === "whip-stream-refused" && this.#isWanted) this.events.say(`${end.detail}. Retrying…`);
      if (this.#isWanted) await new Promise(resolve => setTimeout(resolve, 1000 * backOff(attempt, Math.random())));
    }
  }

  #refuse(refusal) {
    // A response that arrives after stop() is ignored.
    if (this.#isWanted) this.events.onRefused(refusal);
    this.#isWanted = false;
  }

  /** Ends the session, also at the server. */
  stop() {
    this.#isWanted = false;
    this.#over?.();
    this.#end();
  }

  /** Replaces the sent tracks with those of the devices that are open now. */
  replaceTracks() {
    for (const { sender, receiver } of this.#peer?.getTransceivers() ?? []) {
      const track = this.media().getTracks().find(track => track.kind === receiver.track.kind);
      sender.replaceTrack(track ?? null).catch(error => this.events.say(error.message));
    }
  }

  async #publish() {
    const peer = this.#peer = new RTCPeerConnection({ bundlePolicy: "max-bundle" });
    for (const kind of ["video", "audio"]) await this.#add(kind, peer);
    this.#session = await WebRTCSession.begin(peer, this.url, { headers: this.events.headers, signal: AbortSignal.timeout(PATIENCE) });
    await this.#session.connect();
    await new Promise((resolve, reject) => {
      let timer = setTimeout(() => reject(new Error("No connection to the server; a firewall may block UDP")), PATIENCE);
      this.#over = () => { clearTimeout(timer); resolve(); };
      const follow = () => {
        const state = peer.connectionState;
        if (state === "connected") {
          clearTimeout(timer);
          this.events.say("You are live.");
        }
        if (state === "disconnected") {
          clearTimeout(timer);
          timer = setTimeout(this.#over, ABSENCE);
          this.events.say("The server is not responding…");
        }
        if (["failed", "closed"].includes(state)) this.#over();
      };
      peer.onconnectionstatechange = follow;
      // The connection may already be established.
      follow();
    });
  }

  async #add(kind, peer) {
    const media = this.media(), track = media.getTracks().find(track => track.kind === kind);
    const transceiver = peer.addTransceiver(track ?? kind, { direction: "sendonly", streams: [media] });
    if (kind !== "video") return;
    const codecs = RTCRtpSender.getCapabilities?.("video")?.codecs ?? [];
    const preferred = codecs.filter(codec => /H264/i.test(codec.mimeType) && /packetization-mode=1/.test(codec.sdpFmtpLine ?? ""));
    const repairs = codecs.filter(codec => /rtx/i.test(codec.mimeType));
    if (preferred.length) transceiver.setCodecPreferences?.([...preferred, ...repairs]);
    // In a co-stream, changes of resolution are more disturbing than a lower frame rate.
    const parameters = transceiver.sender.getParameters();
    parameters.degradationPreference = "maintain-resolution";
    await transceiver.sender.setParameters(parameters).catch(() => {});
  }

  async #end() {
    this.#peer?.close();
    this.#peer = null;
    const session = this.#session;
    this.#session = null;
    return await session?.end() ?? null;
  }
}
