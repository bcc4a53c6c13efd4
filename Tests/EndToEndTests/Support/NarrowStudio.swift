import Foundation

/// A publisher whose browser reaches the service only through a network of the test.
///
/// Its camera is a film that an encoder can use any bit rate for: moving shapes with a little noise, 640x360 at 20
/// pictures per second. At the lowest quality it needs 200 kbit/s.
struct NarrowStudio {
    /// Figures of the browser about the video that it sends.
    struct Sending: Decodable, Sendable {
        /// Bit rate in bit/s that the browser's congestion control has found; 0 if it does not say.
        var estimate: Double
        var width: Int
        var height: Int
        var framesPerSecond: Double
        /// Number of packets that were retransmitted.
        var repeated: Int
        /// Number of keyframes that the service has asked for.
        var keyframesWanted: Int
    }

    /// Size of the film.
    static let (width, height) = (640, 360)

    let page: BrowserPage
    /// The service's answer to the browser's offer.
    let answer: String

    /// Opens the publish page, and returns once it is live.
    ///
    /// - Parameter shrinks: Whether the browser lowers the resolution when it has too little bit rate, unlike the page.
    static func open(
        as user: String, on stage: Stage, through path: LossyPath, shrinks: Bool = false
    ) async throws -> NarrowStudio {
        let film = stage.directory.appendingPathComponent("camera.y4m").path
        try await shoot(film, in: stage.directory)
        let page = try await BrowserPage.open(
            "http://127.0.0.1:\(stage.client.port)/publish/\(stage.room)#user=\(user)", in: stage.directory,
            options: [
                "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream",
                "--use-file-for-fake-video-capture=\(film)",
            ])
        try await page.wait(for: "document.getElementById('preview').srcObject")
        let _: Bool = try await page.evaluate(preparation)
        if shrinks { let _: Bool = try await page.evaluate(preference) }
        try await page.click("Go live")
        try await page.wait(for: "window.answered")
        let answer: String = try await page.evaluate("answered")
        let led = try path.lead(answer)
        let _: Bool = try await page.evaluate("(lead(\(BrowserPage.quoted(led))), true)")
        try await page.wait(for: "document.getElementById('state').textContent === 'You are live.'")
        return NarrowStudio(page: page, answer: answer)
    }

    private static func shoot(_ film: String, in directory: URL) async throws {
        let camera = try ManagedProcess(
            "camera", "ffmpeg",
            [
                "-hide_banner", "-nostdin", "-nostats", "-loglevel", "warning", "-f", "lavfi", "-i",
                "testsrc2=s=\(width)x\(height):r=20,noise=alls=12:allf=t", "-t", "4", "-pix_fmt", "yuv420p", "-f",
                "yuv4mpegpipe", film,
            ], in: directory)
        try await waitUntil("the film is there\n\(camera.messages())") { !camera.isRunning }
        guard camera.exitStatus == 0 else { throw EndToEndError("no film: \(camera.messages())") }
    }

    /// Counts the requests of sessions, and lets the test change the answer. The service does not learn the browser's
    /// candidates, with which it would reach it directly.
    private static let preparation = """
        (() => {
          const ask = window.fetch, Peer = window.RTCPeerConnection;
          window.requests = [];
          window.fetch = async (url, options) => {
            const method = options?.method;
            if (method === "PATCH") return new Response(null, { status: 204 });
            if (["POST", "DELETE"].includes(method)) requests.push(method);
            const answer = await ask(url, options);
            if (method !== "POST" || !answer.ok) return answer;
            const led = new Promise(resolve => { window.lead = resolve; });
            window.answered = await answer.text();
            answer.text = () => led;
            return answer;
          };
          window.RTCPeerConnection = class extends Peer {
            addTransceiver(kind, options) {
              // Not one that receives another participant.
              if (options?.direction === "sendonly") window.peer = this;
              return super.addTransceiver(kind, options);
            }
          };
          return true;
        })()
        """

    private static let preference = """
        (() => {
          const set = RTCRtpSender.prototype.setParameters;
          RTCRtpSender.prototype.setParameters = function (parameters) {
            return set.call(this, { ...parameters, degradationPreference: "maintain-framerate" });
          };
          return true;
        })()
        """

    func sending() async throws -> Sending {
        try await page.evaluate(
            """
            (async () => {
              const all = [...(await peer.getStats()).values()];
              const video = all.find(one => one.type === "outbound-rtp" && one.kind === "video");
              const pair = all.find(one => one.type === "candidate-pair" && one.availableOutgoingBitrate);
              return {
                estimate: pair?.availableOutgoingBitrate ?? 0,
                width: video?.frameWidth ?? 0, height: video?.frameHeight ?? 0,
                framesPerSecond: video?.framesPerSecond ?? 0,
                repeated: video?.retransmittedPacketsSent ?? 0, keyframesWanted: video?.pliCount ?? 0,
              };
            })()
            """)
    }
}
