import EncodedMedia

/// The part of a worker's pipeline that all kinds of pull have in common: H.264 and AAC pass through untouched,
/// everything else is decoded and encoded once.
enum PullTail {
    /// A sink at which encoded frames leave the pipeline. The raw value is the name of its `appsink`.
    enum Sink: String, CaseIterable, Sendable {
        case video, madeVideo, audio, madeAudio
        /// Untouched H.265, for a program that carries it.
        case h265

        var track: Track { self == .audio || self == .madeAudio ? .audio : .video }
    }

    /// Elements that only pulls need, with their Debian packages. `RequiredElements` lists those of mixers.
    static let elements = [
        PullElement("h264parse", package: "gstreamer1.0-plugins-bad"),
        PullElement("aacparse", package: "gstreamer1.0-plugins-good"),
    ]

    private static let untouchedVideo = "video/x-h264"
    private static let untouchedH265 = "video/x-h265"
    /// Caps of AAC that passes untouched. AAC in other formats (LATM) is decoded.
    private static let untouchedAudio = "audio/mpeg,mpegversion=(int){2,4},stream-format=(string){raw,adts}"

    /// Returns an element that decodes to H.264, AAC or raw media.
    static func decoder(_ name: String) -> String {
        "decodebin name=\(name) caps=\"\(outputs(carriesH265: false))\""
    }

    /// Caps at which a decoder stops.
    static func outputs(carriesH265: Bool) -> String {
        ([untouchedVideo] + (carriesH265 ? [untouchedH265] : []) + [untouchedAudio, "video/x-raw", "audio/x-raw"])
            .joined(separator: ";")
    }

    /// The H.264 encoder, with settings like those of a mix: no B-frames, no look-ahead, a keyframe every two seconds
    /// at 30 pictures a second.
    static let encoder =
        "x264enc tune=zerolatency speed-preset=veryfast bitrate=3000 vbv-buf-capacity=1000 key-int-max=60 bframes=0 "
        + "byte-stream=false aud=false"

    /// Returns a sink. It never waits for other sinks, some of which get no data.
    static func sink(_ sink: Sink, isLive: Bool) -> String {
        "appsink name=\(sink.rawValue) sync=\(isLive ? "false" : "true") async=false max-buffers=64"
    }

    static func video(of decoder: String, isLive: Bool) -> [String] {
        [
            "\(decoder). ! \(untouchedVideo) ! h264parse ! \(untouchedVideo),stream-format=avc,alignment=au ! "
                + sink(.video, isLive: isLive),
            "\(decoder). ! video/x-raw ! videoconvert ! video/x-raw,format=I420 ! \(encoder) ! "
                + "\(untouchedVideo),stream-format=avc,alignment=au,profile=main ! " + sink(.madeVideo, isLive: isLive),
        ]
    }

    static func h265(of decoder: String, isLive: Bool) -> String {
        "\(decoder). ! \(untouchedH265) ! h265parse ! \(untouchedH265),stream-format=hvc1,alignment=au ! "
            + sink(.h265, isLive: isLive)
    }

    static func audio(of decoder: String, isLive: Bool) -> [String] {
        [
            "\(decoder). ! \(untouchedAudio) ! aacparse ! audio/mpeg,mpegversion=4,stream-format=raw ! "
                + sink(.audio, isLive: isLive),
            "\(decoder). ! audio/x-raw ! audioconvert ! audioresample ! audio/x-raw,rate=48000,channels=2 ! "
                + "avenc_aac bitrate=160000 ! audio/mpeg,mpegversion=4,stream-format=raw ! "
                + sink(.madeAudio, isLive: isLive),
        ]
    }
}

extension PullHead {
    /// The whole pipeline.
    var pipeline: String { pipeline(carriesH265: false) }

    /// Returns the whole pipeline.
    ///
    /// - Parameter carriesH265: Whether H.265 passes through untouched. `decoders` must then stop at it.
    func pipeline(carriesH265: Bool) -> String {
        var parts = [description]
        if carriesH265 { parts += decoders.map { PullTail.h265(of: $0, isLive: isLive) } }
        for outlet in outlets {
            switch outlet {
            case .either(let name):
                parts += PullTail.video(of: name, isLive: isLive) + PullTail.audio(of: name, isLive: isLive)
            case .video(let name): parts += PullTail.video(of: name, isLive: isLive)
            case .audio(let name): parts += PullTail.audio(of: name, isLive: isLive)
            case .none: break
            }
        }
        return parts.joined(separator: "  ")
    }

    /// Names of the decoders that may output pictures.
    var decoders: [String] {
        outlets.compactMap { outlet in
            switch outlet {
            case .either(let name), .video(let name): name
            case .audio, .none: nil
            }
        }
    }

    /// The sinks of the pipeline, except the one for H.265.
    var sinks: [PullTail.Sink] {
        let all = outlets.flatMap { outlet -> [PullTail.Sink] in
            switch outlet {
            case .either: [.video, .madeVideo, .audio, .madeAudio]
            case .video: [.video, .madeVideo]
            case .audio: [.audio, .madeAudio]
            case .none: [.video, .audio]
            }
        }
        return PullTail.Sink.allCases.filter { all.contains($0) }
    }
}
