import GStreamerKit
import MixModel

/// The pipeline that sends a stream.
package enum WebRTCSending {
    /// Elements that the pipeline names or `webrtcbin` creates, with the Debian packages of those that relays do not
    /// need.
    package static let elements: [(name: String, package: String)] =
        WebRTCReception.ofPeer + [
            ("rtph264pay", "gstreamer1.0-plugins-good"), ("rtpopuspay", "gstreamer1.0-plugins-good"),
            ("appsrc", "gstreamer1.0-plugins-base"),
        ]

    static let pictures = "pictures"
    static let sound = "sound"

    /// Payload size of a packet in bytes that passes nearly every network, including tunnels.
    private static let packetSize = 1200

    /// The description for `WebRTCPeer`. Pictures are access units as byte streams with their parameter sets in band.
    ///
    /// The packets' sources (SSRC) are chosen here, because the session description names them before there are
    /// packets: if a browser was told of one source, it ignores packets of any other.
    static func description(of formats: WebRTCSender.Formats) -> String {
        var lines = ["webrtcbin name=peer bundle-policy=max-bundle"]
        let source = "format=time is-live=true block=false max-bytes=16000000 leaky-type=upstream"
        if let payload = formats.video {
            lines.append(
                """
                appsrc name=\(pictures) \(source) caps=video/x-h264,stream-format=byte-stream,alignment=au \
                ! rtph264pay name=payloader-video pt=\(payload) mtu=\(packetSize) aggregate-mode=zero-latency \
                ! application/x-rtp,media=video,encoding-name=H264,payload=\(payload),clock-rate=90000,packetization-mode=(string)1,\
                ssrc=(uint)\(UInt32.random(in: 1 ... .max)) \
                ! peer.
                """)
        }
        if let payload = formats.audio {
            lines.append(
                """
                appsrc name=\(sound) \(source) caps=audio/x-opus,rate=48000,channels=2,channel-mapping-family=0 \
                ! rtpopuspay name=payloader-audio pt=\(payload) mtu=\(packetSize) \
                ! application/x-rtp,media=audio,encoding-name=OPUS,payload=\(payload),clock-rate=48000,\
                ssrc=(uint)\(UInt32.random(in: 1 ... .max)) ! peer.
                """)
        }
        return lines.joined(separator: "\n")
    }
}

extension WebRTCPeer.Network {
    init(_ network: WebRTCNetwork) {
        self.init()
        addresses = network.addresses
        ports = network.ports.flatMap { $0.lowest <= $0.highest ? $0.lowest...$0.highest : nil }
        stun = network.stun
        turn = network.turn
    }
}
