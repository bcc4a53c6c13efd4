// Plays over WebRTC (WHEP): less than half a second behind.
import { ABSENCE } from "./player-policy.js";
import { WebRTCSession } from "./player-webrtc.js";

export class WHEPSession {
  /** Delay in seconds that this side adds, with half of the way there and back. */
  lag = 0;

  /**
   * @param {HTMLVideoElement} video @param {string} url
   * @param {{onConnect: () => void, onReady: () => void, headers?: () => Record<string, string>}} events
   */
  constructor(video, url, events) { Object.assign(this, { video, url, events }); }

  /** Plays until the connection ends. @param {AbortSignal} signal @throws {Error} What went wrong; see `verdict`. */
  async run(signal) {
    const connection = new RTCPeerConnection({ bundlePolicy: "max-bundle" }), media = new MediaStream();
    const timer = setInterval(() => this.#measure(connection), 1000);
    let session = null, absence;
    const lost = new Promise((_, reject) => {
      const end = () => reject(new Error("The connection is lost"));
      connection.onconnectionstatechange = () => {
        clearTimeout(absence);
        if (connection.connectionState === "disconnected") absence = setTimeout(end, ABSENCE);
        if (["failed", "closed"].includes(connection.connectionState)) end();
      };
      signal.addEventListener("abort", () => reject(signal.reason));
    });
    lost.catch(() => {});
    try {
      for (const kind of ["video", "audio"]) connection.addTransceiver(kind, { direction: "recvonly" });
      connection.ontrack = event => media.addTrack(event.track);
      session = await WebRTCSession.begin(connection, this.url, { headers: this.events.headers ?? (() => ({})), signal });
      await session.connect();
      this.video.srcObject = media;
      this.video.playbackRate = 1;
      this.events.onConnect();
      this.events.onReady();
      await lost;
    } finally {
      clearInterval(timer);
      clearTimeout(absence);
      connection.close();
      session?.end();
    }
  }

  async #measure(connection) {
    const figures = [...(await connection.getStats()).values()];
    const video = figures.find(one => one.type === "inbound-rtp" && one.kind === "video");
    const way = figures.find(one => one.type === "candidate-pair" && one.nominated)?.currentRoundTripTime ?? 0;
    if (video?.jitterBufferEmittedCount) this.lag = video.jitterBufferDelay / video.jitterBufferEmittedCount + way / 2;
  }

  seekToLive() {}
}
