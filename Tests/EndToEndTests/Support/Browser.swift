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
        let page = directory.appendingPathComponent("page-\(UUID().uuidString).html")
        try Self.page(playing: address).write(to: page, atomically: true, encoding: .utf8)
        let process = try open(page.absoluteString)
        var playback: Playback?
        try await waitUntil("chromium has played \(address)", within: seconds, every: 200) {
            let logged: [Playback] = Self.logged(Self.mark, by: process)
            playback = logged.first
            return playback != nil || !process.isRunning
        }
        await process.stop()
        guard let playback else { throw EndToEndError("chromium ended: \(process.messages())") }
        return playback
    }

    /// Opens a page, with a camera and a microphone that are not real and that every page may use.
    ///
    /// - Parameter options: Further ones of Chromium's command line.
    func open(_ url: String, options: [String] = []) throws -> ManagedProcess {
        guard let executable = Self.executable else { throw EndToEndError("chromium is missing: run deploy/setup.sh") }
        let name = "chromium-\(UUID().uuidString)"
        return try ManagedProcess(
            name, executable,
            [
                // Containers and root have no user namespaces for its sandbox; it plays what these tests made.
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--mute-audio",
                "--no-first-run", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream",
                "--autoplay-policy=no-user-gesture-required", "--allow-file-access-from-files",
                "--user-data-dir=\(directory.appendingPathComponent("profile-\(name)").path)",
                "--enable-logging=stderr",
                "--v=0",
            ] + options + [url], in: directory)
    }

    private static let mark = "PLAYBACK "

    /// What the page has logged as JSON behind `mark`. Chromium quotes what pages log.
    static func logged<Value: Decodable>(_ mark: String, by process: ManagedProcess) -> [Value] {
        process.messages(last: 1000).split(separator: "\n").compactMap { line in
            guard let start = line.firstRange(of: mark), let end = line.range(of: "}", options: .backwards) else {
                return nil
            }
            let json = line[start.upperBound..<end.upperBound].replacing("\\\"", with: "\"")
            return try? JSONDecoder().decode(Value.self, from: Data(json.utf8))
        }
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
