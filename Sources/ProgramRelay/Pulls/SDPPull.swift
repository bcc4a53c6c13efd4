import EncodedMedia
import Foundation
import TextFormats

/// Receives RTP according to a session description. The description is a file on a web server or in `media.directory`
/// whose name ends with `.sdp`.
package enum SDPPull: WorkerPullKind {
    package static let name = "RTP with SDP"
    package static let summary =
        "a path that ends with `.sdp`: H.264 and AAC; other codecs are transcoded. The description names the addresses to listen at"
    package static let schemes = [
        PullScheme("http", port: 80), PullScheme("https", port: 443, isSecure: true), PullScheme("file"),
    ]
    package static let elements =
        [
            PullElement("udpsrc", package: "gstreamer1.0-plugins-good"),
            PullElement("rtpbin", package: "gstreamer1.0-plugins-good"),
            PullElement("rtph264depay", package: "gstreamer1.0-plugins-good"),
        ] + PullTail.elements
    package static let options = PullOptions(idleTimeout: 5, latency: .milliseconds(200))
    package static let judgesAddresses = true

    package static func takes(_ url: String) -> Bool {
        let path = url.prefix { $0 != "?" && $0 != "#" }
        return path.suffix(4).lowercased() == ".sdp"
    }

    package static func usesNetwork(_ address: PullAddress) -> Bool { address.scheme != "file" }

    package static func head(for address: PullAddress, latency: MediaTime) throws(PullEnd) -> PullHead {
        var head = PullHead(description: "", outlets: [], isSessionDescription: true)
        if address.scheme == "file" {
            head.file = try FilePull.path(of: address)
            _ = try address.options([])
        }
        return head
    }

    /// Returns the head of the pipeline that receives the described streams.
    ///
    /// - Parameters:
    ///   - limits: Addresses at which the pull may listen; `nil` allows any.
    ///   - latency: Time for which packets wait for late ones.
    static func head(
        of description: SessionDescription, limits: Reach?, latency: MediaTime
    ) throws(PullEnd) -> PullHead {
        var lines = ["rtpbin name=rtp latency=\(latency.roundedMilliseconds) drop-on-latency=true"]
        var head = PullHead(description: "", outlets: [])
        // A container carries all tracks.
        let whole = description.media.first { $0.encoding == "MP2T" }
        head.isRTP = whole == nil
        for (index, media) in (whole.map { [$0] } ?? description.media).enumerated() {
            try check(media, limits)
            lines.append("udpsrc name=media\(index) buffer-size=2097152 ! rtp.recv_rtp_sink_\(index)")
            lines.append("udpsrc name=control\(index) caps=application/x-rtcp ! rtp.recv_rtcp_sink_\(index)")
            let decoder = media.kind == .video ? "pictures" : "sound"
            lines.append(
                "rtp. ! application/x-rtp,media=(string)\(media.kind.rawValue) ! \(PullTail.decoder(decoder))")
            let isGroup = PullAddress.isMulticast(media.address)
            for (element, port) in [("media\(index)", media.port), ("control\(index)", media.port + 1)] {
                head.properties += [
                    .init(element, "address", media.address), .init(element, "port", "\(port)"),
                    // Another process on this machine must not receive part of the packets.
                    .init(element, "reuse", isGroup ? "true" : "false"),
                ]
            }
            head.properties.append(.init("media\(index)", "caps", media.caps))
            head.outlets.append(
                media.encoding == "MP2T"
                    ? .either(decoder) : media.kind == .video ? .video(decoder) : .audio(decoder))
        }
        head.description = lines.joined(separator: "  ")
        return head
    }

    private static func check(_ media: SessionDescription.Media, _ limits: Reach?) throws(PullEnd) {
        guard let address = internet(media.address), !["0.0.0.0", "::"].contains("\(address)") else {
            throw PullEnd(
                .protocolViolation,
                "the session description needs an address of this machine or a multicast group in its lines c=, not a "
                    + "name or 0.0.0.0")
        }
        guard media.port >= 1024, media.port < 65_535 else {
            throw PullEnd(.protocolViolation, "the session description needs ports of 1024…65534")
        }
        let target = Reach.Target(scheme: "rtp", host: media.address, port: Int(media.port))
        guard limits?.allows(address, of: target) ?? true else {
            throw PullEnd(.notAllowed, Reach.refusal(target, at: address, setting: "sources.allow"))
        }
    }

    private static func internet(_ text: String) -> InternetAddress? {
        var four = in_addr()
        var six = in6_addr()
        if inet_pton(AF_INET, text, &four) == 1 { return withUnsafeBytes(of: four) { InternetAddress(Array($0)) } }
        if inet_pton(AF_INET6, text, &six) == 1 { return withUnsafeBytes(of: six) { InternetAddress(Array($0)) } }
        return nil
    }
}
