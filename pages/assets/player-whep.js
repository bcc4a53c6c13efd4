// Plays over WebRTC (WHEP).
import { ABSENCE } from "./player-policy.js";
import { PATIENCE, WebRTCSession } from "./player-webrtc.js";

export class WHEPSession {
  /** The delay in seconds: this side's jitter buffer and half of the round-trip time. */
  lag = 0;
  #last = { jitterBufferDelay: 0, jitterBufferEmittedCount: 0 };

  /**
   * @param {HTMLVideoElement} video @param {string} url
   * @param {{onConnect: () => void, onReady: () => void, headers?: () => Record<string, string>}} events
   */
  constructor(video, url, events) { Object.assign(this, { video, url, events }); }

  /** Plays until the connection ends. @param {AbortSignal} signal @throws {Error} What went wrong; see `verdict`. */
  async run(signal) {
    const connection = new RTCPeerConnection({ bundlePolicy: "max-bundle" }), media = new MediaStream();
    const timer = setInterval(() => this.#measure(connection), 1000);
    let begun = null, absence, leave;
    const lost = new Promise((_, reject) => {
      const end = () => reject(new Error("The connection is lost"));
      connection.onconnectionstatechange = () => {
        clearTimeout(absence);
        if (connection.connectionState === "disconnected") absence = setTimeout(end, ABSENCE);
        if (["failed", "closed"].includes(connection.connectionState)) end();
      };
      leave = () => reject(signal.reason);
      signal.addEventListener("abort", leave);
    });
    lost.catch(() => {});
    try {
      for (const kind of ["video", "audio"]) connection.addTransceiver(kind, { direction: "recvonly" });
      connection.ontrack = event => media.addTrack(event.track);
      begun = WebRTCSession.begin(connection, this.url, {
        headers: this.events.headers ?? (() => ({})), signal: AbortSignal.timeout(PATIENCE) });
      const session = await Promise.race([begun, lost]);
      await Promise.race([lost, session.connect()]);
      this.video.srcObject = media;
      this.video.playbackRate = 1;
      this.events.onConnect();
      this.events.onReady();
      await lost;
    } finally {
      clearInterval(timer);
      clearTimeout(absence);
      // The signal outlives this connection.
      signal.removeEventListener("abort", leave);
      connection.close();
      // Also ends a session whose response arrives only now.
      begun?.then(session => session.end()).catch(() => {});
    }
  }

  async #measure(connection) {
    const figures = [...(await connection.getStats()).values()];
    const video = figures.find(one => one.type === "inbound-rtp" && one.kind === "video");
    const way = figures.find(one => one.type === "candidate-pair" && one.nominated)?.currentRoundTripTime ?? 0;
    const last = this.#last, pictures = video?.jitterBufferEmittedCount - last.jitterBufferEmittedCount;
    if (!(pictures > 0)) return;
    this.lag = (video.jitterBufferDelay - last.jitterBufferDelay) / pictures + way / 2;
    this.#last = video;
  }

  seekToLive() {}
}
