/// Pulls MPEG-TS over SRT as caller, listener or in rendezvous.
package enum SRTPull: WorkerPullKind {
    package static let name = "SRT"
    package static let summary =
        "MPEG-TS; what is not H.264 or AAC is transcoded. `?mode=` caller, listener or rendezvous, `passphrase=`, `streamid=`, `latency=`"
    package static let schemes = [PullScheme("srt")]
    package static let elements =
        [
            PullElement("srtsrc", package: "gstreamer1.0-plugins-bad"),
            PullElement("tsdemux", package: "gstreamer1.0-plugins-bad"),
        ] + PullTail.elements
    package static let options = PullOptions(idleTimeout: 5, latency: .milliseconds(125))

    package static func head(for address: PullAddress) throws(PullEnd) -> PullHead {
        guard let port = address.port else { throw PullEnd(.badURL, "an SRT URL needs a port: srt://host:9000") }
        guard ["", "/"].contains(address.path) else {
            throw PullEnd(.badURL, "an SRT URL has no path: name the stream with ?streamid=")
        }
        let options = try address.options(["mode", "passphrase", "pbkeylen", "streamid", "latency"])
        let mode = options["mode"] ?? "caller"
        guard ["caller", "listener", "rendezvous"].contains(mode) else {
            throw PullEnd(.badURL, "mode in the URL must be caller, listener or rendezvous")
        }
        guard mode != "listener" || (address.isLiteral && !address.isEveryAddress) else {
            throw PullEnd(.badURL, "an SRT listener needs an address of this machine, not a name or 0.0.0.0")
        }
        let latency = try options.number("latency", in: 20...8000, else: 125)
        var properties: [PullHead.Property] = [
            .init("source", "uri", "srt://\(address.spelledHost):\(port)?mode=\(mode)"),
            .init("source", "latency", "\(latency)"),
        ]
        if mode == "rendezvous" {
            // Both sides use the same port.
            properties.append(.init("source", "localport", "\(port)"))
        }
        if let passphrase = options["passphrase"] {
            // haicrypt's limits (SRT API, SRTO_PASSPHRASE).
            guard 10...79 ~= passphrase.utf8.count else {
                throw PullEnd(.badURL, "the passphrase in the URL must have 10 to 79 bytes")
            }
            properties.append(.init("source", "passphrase", passphrase))
            guard ["16", "24", "32"].contains(options["pbkeylen"] ?? "16") else {
                throw PullEnd(.badURL, "pbkeylen in the URL must be 16, 24 or 32")
            }
            properties.append(.init("source", "pbkeylen", options["pbkeylen"] ?? "16"))
        }
        if let stream = options["streamid"] {
            guard stream.utf8.count <= 512 else {
                throw PullEnd(.badURL, "streamid in the URL must have at most 512 bytes")
            }
            properties.append(.init("source", "streamid", stream))
        }
        return PullHead(
            description: """
                srtsrc name=source auto-reconnect=false keep-listening=false ! \
                video/mpegts,systemstream=true ! \(PullTail.decoder("all"))
                """,
            properties: properties, isRendezvous: mode == "rendezvous")
    }
}
