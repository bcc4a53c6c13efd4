import Foundation

/// Chromium without a window: what somebody sees who opens a link.
struct Browser {
    /// What came of playing something to its end.
    struct Playback: Decodable {
        /// In the order in which they were shown, as `720x1280`.
        var sizes: [String]
        /// In seconds.
        var duration: Double
        var decoded: Int
        var dropped: Int
        /// The element's own words; `nil` = it came to its end.
        var error: String?
    }

    static let executable = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    let directory: URL

    /// Plays it with a `video` element, muted, twice as fast.
    ///
    /// - Parameter address: A URL, or a file's name relative to the directory.
    func play(_ address: String, within seconds: Double) async throws -> Playback {
        guard let executable = Self.executable else { throw EndToEndError("chromium is missing: run deploy/setup.sh") }
        let page = directory.appendingPathComponent("page-\(UUID().uuidString).html")
        try Self.page(playing: address).write(to: page, atomically: true, encoding: .utf8)
        let process = try ManagedProcess(
            "chromium-\(page.lastPathComponent)", executable,
            [
                // Containers and root have no user namespaces for its sandbox; it plays what these tests made.
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--mute-audio",
                "--no-first-run",
                "--autoplay-policy=no-user-gesture-required", "--allow-file-access-from-files",
                "--user-data-dir=\(directory.appendingPathComponent("profile").path)", "--enable-logging=stderr",
                "--v=0",
                page.absoluteString,
            ], in: directory)
        var playback: Playback?
        try await waitUntil("chromium has played \(address)", within: seconds, every: 200) {
            playback = Self.result(in: process.messages(last: 1000))
            return playback != nil || !process.isRunning
        }
        await process.stop()
        guard let playback else { throw EndToEndError("chromium ended: \(process.messages())") }
        return playback
    }

    private static let mark = "PLAYBACK "

    /// The page logs it; Chromium quotes what pages log.
    private static func result(in messages: String) -> Playback? {
        for line in messages.split(separator: "\n") {
            guard let start = line.firstRange(of: mark), let end = line.range(of: "}", options: .backwards) else {
                continue
            }
            let json = line[start.upperBound..<end.upperBound].replacing("\\\"", with: "\"")
            if let playback = try? JSONDecoder().decode(Playback.self, from: Data(json.utf8)) { return playback }
        }
        return nil
    }

    private static func page(playing address: String) -> String {
        """
        <!doctype html><video muted></video><script>
        const video = document.querySelector("video"), sizes = [];
        function tell(error) {
            const quality = video.getVideoPlaybackQuality();
            console.log("\(mark)" + JSON.stringify({
                sizes, duration: isFinite(video.duration) ? video.duration : video.currentTime,
                decoded: quality.totalVideoFrames, dropped: quality.droppedVideoFrames, error }));
        }
        video.addEventListener("resize", () => sizes.push(video.videoWidth + "x" + video.videoHeight));
        video.addEventListener("ended", () => tell(null));
        video.addEventListener("error", () => tell(video.error.code + " " + video.error.message));
        video.defaultPlaybackRate = 2;
        video.src = "\(address)";
        video.play().catch(error => tell(String(error)));
        </script>
        """
    }
}
