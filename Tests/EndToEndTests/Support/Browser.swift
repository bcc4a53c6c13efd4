import Foundation

/// Chromium without a window: the view of a user who opens a link.
struct Browser {
    /// The result of playing a stream to its end.
    struct Playback: Decodable {
        /// Sizes of the pictures in display order, as `720x1280`.
        var sizes: [String]
        /// Duration in seconds.
        var duration: Double
        var decoded: Int
        var dropped: Int
        /// The element's error message; `nil` if it played to its end.
        var error: String?
    }

    static let executable = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    let directory: URL

    /// Plays a stream with a `video` element, muted, at double speed.
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

    /// Opens a page, with a simulated camera and microphone that every page may use.
    ///
    /// - Parameter options: Additional command-line options of Chromium.
    func open(_ url: String, options: [String] = []) throws -> ManagedProcess {
        guard let executable = Self.executable else { throw EndToEndError("chromium is missing: run deploy/setup.sh") }
        let name = "chromium-\(UUID().uuidString)"
        return try ManagedProcess(
            name, executable,
            [
                // Containers and root have no user namespaces for its sandbox. It shows only content of these tests.
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--mute-audio",
                "--no-first-run", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream",
                "--autoplay-policy=no-user-gesture-required", "--allow-file-access-from-files",
                "--user-data-dir=\(directory.appendingPathComponent("profile-\(name)").path)",
                "--enable-logging=stderr",
                "--v=0",
            ] + options + [url], in: directory)
    }

    private static let mark = "PLAYBACK "

    /// Returns the values that the page has logged as JSON behind `mark`. Chromium puts the messages of pages in
    /// quotes.
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
