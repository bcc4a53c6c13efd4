import EncodedMedia

/// Pulls HLS, live or on demand: `http` and `https` URLs whose path ends with `.m3u8`, with any query.
package enum HLSPull: WorkerPullKind {
    package static let name = "HLS"
    package static let summary =
        "a path that ends with `.m3u8`: MPEG-TS or fMP4, live or on demand, AES-128, sound in playlists of its own; of several variants the best up to 1080p and 10 Mbit/s. What is not H.264 or AAC is transcoded"
    package static let schemes = [PullScheme("http", port: 80), PullScheme("https", port: 443, isSecure: true)]
    package static let elements =
        [
            PullElement("tsdemux", package: "gstreamer1.0-plugins-bad"),
            PullElement("qtdemux", package: "gstreamer1.0-plugins-good"),
        ] + PullTail.elements
    package static let options = PullOptions(idleTimeout: 5)
    package static let usesTCP = true
    package static let judgesAddresses = true

    package static func takes(_ url: String) -> Bool {
        let path = url.prefix { $0 != "?" && $0 != "#" }
        return path.suffix(5).lowercased() == ".m3u8"
    }

    package static func head(for address: PullAddress, latency: MediaTime) throws(PullEnd) -> PullHead {
        PullHead(
            description: "appsrc name=source format=bytes ! \(PullTail.decoder("all"))", isSegmented: true)
    }

    /// The head for video and audio from two playlists.
    static let headWithSound = PullHead(
        description: "appsrc name=source format=bytes ! \(PullTail.decoder("pictures"))  "
            + "appsrc name=soundSource format=bytes ! \(PullTail.decoder("sound"))",
        outlets: [.video("pictures"), .audio("sound")], isSegmented: true)
}
