import EncodedMedia

/// Pulls from an RTSP server: over its TCP connection, over UDP (`rtspu`), or over TLS (`rtsps`).
package enum RTSPPull: WorkerPullKind {
    package static let name = "RTSP"
    package static let summary =
        "H.264 and AAC; other codecs are transcoded. Media over TCP; `rtspu://` over UDP, `rtsps://` over TLS"
    package static let schemes = [
        PullScheme("rtsp", port: 554, takesCredentials: true), PullScheme("rtspu", port: 554, takesCredentials: true),
        PullScheme("rtsps", port: 322, isSecure: true, takesCredentials: true),
    ]
    package static let elements = [PullElement("rtspsrc", package: "gstreamer1.0-plugins-good")] + PullTail.elements
    package static let options = PullOptions(idleTimeout: 5, latency: .milliseconds(200))

    package static let usesTCP = true

    package static func head(for address: PullAddress, latency: MediaTime) throws(PullEnd) -> PullHead {
        let isUDP = address.scheme == "rtspu"
        let bare = address.withoutCredentials
        let location = isUDP ? "rtsp" + bare.dropFirst(address.scheme.utf8.count) : bare
        var properties = [PullHead.Property("source", "location", String(location))]
        if let credentials = address.credentials {
            properties.append(.init("source", "user-id", credentials.user))
            properties.append(.init("source", "user-pw", credentials.password))
        }
        return PullHead(
            // Sends no packets to addresses that the server names (nat-method), and uses only the requested transport.
            description: """
                rtspsrc name=source latency=\(latency.roundedMilliseconds) tcp-timeout=5000000 timeout=0 \
                nat-method=none udp-reconnect=false \
                protocols=\(isUDP ? "udp" : "tcp") \
                source. ! application/x-rtp,media=(string)video ! \(PullTail.decoder("pictures")) \
                source. ! application/x-rtp,media=(string)audio ! \(PullTail.decoder("sound"))
                """,
            properties: properties, outlets: [.video("pictures"), .audio("sound")], isRTP: true, isRTSP: true)
    }
}
