import EncodedMedia

/// Receives MPEG-TS over UDP, from one sender or a multicast group, directly (`udp`) or in RTP (`rtp`).
package enum UDPPull: WorkerPullKind {
    package static let name = "MPEG-TS over UDP or RTP"
    package static let summary =
        "MPEG-TS; what is not H.264 or AAC is transcoded. The host is the address to listen at, or a multicast group"
    package static let schemes = [PullScheme("udp"), PullScheme("rtp")]
    package static let elements =
        [
            PullElement("udpsrc", package: "gstreamer1.0-plugins-good"),
            PullElement("rtpjitterbuffer", package: "gstreamer1.0-plugins-good"),
            PullElement("rtpmp2tdepay", package: "gstreamer1.0-plugins-good"),
            PullElement("tsdemux", package: "gstreamer1.0-plugins-bad"),
        ] + PullTail.elements
    /// The latency is that of RTP. Packets of plain UDP have no numbers by which to put them in order.
    package static let options = PullOptions(idleTimeout: 5, latency: .milliseconds(200))

    package static func head(for address: PullAddress, latency: MediaTime) throws(PullEnd) -> PullHead {
        guard address.isLiteral, !address.isEveryAddress, let port = address.port, port >= 1024 else {
            throw PullEnd(
                .badURL,
                "a UDP URL needs an address of this machine or a multicast group, not a name or 0.0.0.0, and a port from "
                    + "1024 on: \(address.scheme)://239.1.2.3:5000")
        }
        guard ["", "/"].contains(address.path) else { throw PullEnd(.badURL, "a UDP URL has no path") }
        _ = try address.options([])
        let stream = "video/mpegts,systemstream=(boolean)true,packetsize=(int)188"
        let packets =
            address.scheme == "rtp"
            ? """
            udpsrc name=source buffer-size=2097152 \
            caps="application/x-rtp,media=video,clock-rate=90000,encoding-name=MP2T,payload=33" ! \
            rtpjitterbuffer latency=\(latency.roundedMilliseconds) ! rtpmp2tdepay
            """
            : "udpsrc name=source buffer-size=2097152 caps=\"\(stream)\""
        return PullHead(
            description: "\(packets) ! \(PullTail.decoder("all"))",
            properties: [
                .init("source", "address", address.host), .init("source", "port", "\(port)"),
                // Another process on this machine must not receive part of the packets.
                .init("source", "reuse", address.isMulticast ? "true" : "false"),
            ])
    }
}

extension PullAddress {
    /// Whether the host is the address of a multicast group.
    var isMulticast: Bool { Self.isMulticast(host) }

    /// Returns whether an address is a multicast address (RFC 1112 §4, RFC 4291 §2.7).
    static func isMulticast(_ host: String) -> Bool {
        if host.contains(":") { return host.lowercased().hasPrefix("ff") }
        return host.split(separator: ".").first.flatMap { UInt8($0) }.map { 224...239 ~= $0 } ?? false
    }
}
