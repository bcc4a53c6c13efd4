// Plays over WebRTC (WHEP): less than half a second behind.
import { ABSENCE, Refusal } from "./player-policy.js";

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
    const connection = new RTCPeerConnection(), media = new MediaStream();
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
      await connection.setLocalDescription();
      // The offer goes out once, with the candidates that are there by then.
      await new Promise(resolve => {
        connection.onicegatheringstatechange = () => { if (connection.iceGatheringState === "complete") resolve(); };
        setTimeout(resolve, 1000);
      });
      const body = connection.localDescription.sdp;
      const headers = { ...this.events.headers?.(), "Content-Type": "application/sdp" };
      const answer = await fetch(this.url, { method: "POST", headers, body, signal });
      if (!answer.ok) throw await Refusal.of(answer);
      session = new URL(answer.headers.get("Location"), answer.url);
      await connection.setRemoteDescription({ type: "answer", sdp: await answer.text() });
      this.video.srcObject = media;
      this.video.playbackRate = 1;
      this.events.onConnect();
      this.events.onReady();
      await lost;
    } finally {
      clearInterval(timer);
      clearTimeout(absence);
      connection.close();
      if (session) fetch(session, { method: "DELETE", headers: this.events.headers?.() ?? {}, keepalive: true }).catch(() => {});
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
