import EncodedMedia
import GStreamerKit
import MediaFormats
import MixModel

/// The pipeline that receives a publisher's media: H.264 untouched, Opus encoded as AAC once.
enum WebRTCReception {
    /// Elements that every WebRTC connection needs, with their Debian packages.
    static let ofPeer: [(name: String, package: String)] = [
        ("webrtcbin", "gstreamer1.0-plugins-bad"), ("nicesrc", "gstreamer1.0-nice"),
        ("nicesink", "gstreamer1.0-nice"), ("dtlsenc", "gstreamer1.0-plugins-bad"),
        ("dtlsdec", "gstreamer1.0-plugins-bad"), ("srtpenc", "gstreamer1.0-plugins-bad"),
        ("srtpdec", "gstreamer1.0-plugins-bad"), ("rtpbin", "gstreamer1.0-plugins-good"),
    ]
    /// Elements that the pipeline names or `webrtcbin` creates.
    package static let elements: [(name: String, package: String)] =
        ofPeer + [
            ("rtph264depay", "gstreamer1.0-plugins-good"), ("rtpopusdepay", "gstreamer1.0-plugins-good"),
            ("h264parse", "gstreamer1.0-plugins-bad"), ("opusdec", "gstreamer1.0-plugins-base"),
            ("audiorate", "gstreamer1.0-plugins-base"), ("audioconvert", "gstreamer1.0-plugins-base"),
            ("audioresample", "gstreamer1.0-plugins-base"), ("avenc_aac", "gstreamer1.0-libav"),
            ("appsink", "gstreamer1.0-plugins-base"),
        ]

    /// Bit rate of the AAC in bit/s.
    private static let audioBitRate = 128_000
    /// Time in ms to wait for a late or retransmitted packet. Costs nothing while none is missing.
    private static let patience = 200

    static let pictures = "pictures"
    static let sound = "sound"

    /// The description for `WebRTCPeer`. `audiorate` produces AAC without gaps from audio with gaps: a silent sender
    /// may send nothing, and RTCP shifts the audio times against those of the pictures once. `audiorate` ignores
    /// deviations of up to its tolerance, by default 40 ms; a shift of that size would remain, and is heard.
    static let description = """
        webrtcbin name=peer bundle-policy=max-bundle latency=\(patience)
        rtph264depay name=video wait-for-keyframe=true request-keyframe=true \
        ! h264parse ! video/x-h264,stream-format=avc,alignment=au \
        ! appsink name=\(pictures) sync=false async=false max-buffers=64
        rtpopusdepay name=audio ! opusdec plc=true use-inband-fec=true ! audioconvert ! audioresample \
        ! audio/x-raw,rate=48000,channels=2 ! audiorate tolerance=10000000 skip-to-first=true \
        ! \(AACEncoder.element(sampleRate: 48_000, channels: 2, bitrate: audioBitRate)) \
        ! audio/mpeg,mpegversion=4,stream-format=raw \
        ! appsink name=\(sound) sync=false async=false max-buffers=64
        """

    /// Returns the caps of the accepted format of a section of the offer.
    static func caps(of track: WebRTCOffer.Track, in offer: WebRTCOffer) -> String {
        let section = offer.sections[track.section]
        let format = track.format
        var fields = [
            "media=(string)\(section.kind.rawValue)", "payload=(int)\(format.payload)",
            "encoding-name=(string)\(format.encoding)", "clock-rate=(int)\(format.clockRate)",
        ]
        if section.kind == .video {
            fields.append("packetization-mode=(string)1")
            if let id = section.headerExtension(WebRTCOffer.transportWideCongestionControl) {
                // Without it senders do not learn the capacity of the network, and stay at their lowest bit rate.
                fields.append("extmap-\(id)=(string)\"\(WebRTCOffer.transportWideCongestionControl)\"")
            }
        }
        return "application/x-rtp," + fields.joined(separator: ",")
    }

    /// Prepares the peer for the offer.
    static func addReceivers(to peer: WebRTCPeer, for publication: WebRTCOffer.Publication, of offer: WebRTCOffer)
        throws(GStreamerError)
    {
        for (index, section) in offer.sections.enumerated() {
            if index == publication.video.section {
                try peer.addReceiver(caps(of: publication.video, in: offer), asksAgain: true)
            } else if let audio = publication.audio, index == audio.section {
                try peer.addReceiver(caps(of: audio, in: offer), asksAgain: false)
            } else if section.kind != .application {
                // Reserves the section's place; the answer rejects it.
                try peer.addReceiver("application/x-rtp,media=(string)\(section.kind.rawValue)", asksAgain: false)
            }
        }
    }

    /// Copies a frame out of the pipeline; `nil` for one without a time or bytes.
    static func frame(_ sample: borrowing Sample, _ track: Track) -> PublishedStream.Frame? {
        guard let time = sample.runningTime else { return nil }
        let payload = sample.bytes
        guard !payload.isEmpty else { return nil }
        return PublishedStream.Frame(
            track: track, pts: MediaTime(nanoseconds: time), dts: nil, isIDR: track == .video && !sample.isDelta,
            payload: payload, configuration: sample.codecData)
    }
}
