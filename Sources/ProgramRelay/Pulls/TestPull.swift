import EncodedMedia

/// A test pattern with a tone, made by the worker.
package enum TestPull: WorkerPullKind {
    package static let name = "test pattern"
    package static let summary =
        "H.264 and AAC made here: `test://localhost/bars?size=1280x720&fps=30&tone=440`; also `ball`, `snow`, `black`"
    package static let schemes = [PullScheme("test")]
    package static let elements = [
        PullElement("videotestsrc", package: "gstreamer1.0-plugins-base"),
        PullElement("audiotestsrc", package: "gstreamer1.0-plugins-base"),
    ]

    private static let patterns = ["": "smpte", "bars": "smpte", "ball": "ball", "snow": "snow", "black": "black"]

    package static func usesNetwork(_ address: PullAddress) -> Bool { false }

    package static func head(for address: PullAddress, latency: MediaTime) throws(PullEnd) -> PullHead {
        guard address.isLocalhost, address.port == nil else {
            throw PullEnd(.badURL, "a test pattern has the host localhost and no port: test://localhost/bars")
        }
        guard let pattern = patterns[String(address.path.dropFirst())] else {
            throw PullEnd(.badURL, "there is no test pattern of this name: use bars, ball, snow or black")
        }
        let options = try address.options(["size", "fps", "tone"])
        let size = (options["size"] ?? "1280x720").split(separator: "x").compactMap { Int($0) }
        guard size.count == 2, size.allSatisfy({ 16...1920 ~= $0 && $0 % 2 == 0 }) else {
            throw PullEnd(.badURL, "size in the URL must be WIDTHxHEIGHT, even and 16…1920 each, such as 1280x720")
        }
        let fps = try options.number("fps", in: 1...60, else: 30)
        let tone = try options.number("tone", in: 0...20_000, else: 440)
        let volume = tone == 0 ? 0 : 0.1
        return PullHead(
            description: """
                videotestsrc is-live=true pattern=\(pattern) ! \
                video/x-raw,format=I420,width=\(size[0]),height=\(size[1]),framerate=\(fps)/1 ! \
                x264enc tune=zerolatency speed-preset=ultrafast bitrate=2000 key-int-max=\(fps) bframes=0 \
                byte-stream=false aud=false ! video/x-h264,stream-format=avc,alignment=au ! \
                \(PullTail.sink(.video, isLive: true)) \
                audiotestsrc is-live=true samplesperbuffer=1024 freq=\(max(1, tone)) volume=\(volume) ! \
                audio/x-raw,rate=48000,channels=2 ! audioconvert ! avenc_aac bitrate=128000 ! \
                audio/mpeg,mpegversion=4,stream-format=raw ! \(PullTail.sink(.audio, isLive: true))
                """,
            outlets: [.none])
    }
}
