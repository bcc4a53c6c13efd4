import MixModel

/// The `onMetaData` of a program, in AMF0 (Adobe FLV 10.1 §E.5; AMF 0 specification §2).
public struct FLVMetadata: Hashable, Sendable {
    public var videoCodec: VideoCodec?
    public var width: Int?
    public var height: Int?
    public var framesPerSecond: Double?
    public var sampleRate: Int?
    public var isStereo: Bool?

    public init(video: CodecConfiguration?, audio: CodecConfiguration?, framesPerSecond: Double?) {
        let parameters = video.flatMap { VideoConfiguration($0)?.sequenceParameters }
        videoCodec = parameters == nil ? nil : video?.videoCodec
        width = parameters?.width
        height = parameters?.height
        self.framesPerSecond = parameters?.frameRate ?? framesPerSecond
        let format = audio.flatMap { AudioSpecificConfig($0.bytes) }
        sampleRate = format?.sampleRate
        isStereo = format.map { $0.channels > 1 }
    }

    /// The body of the script tag.
    public var body: [UInt8] {
        var values: [(String, [UInt8])] = []
        if let width { values.append(("width", AMF0.number(Double(width)))) }
        if let height { values.append(("height", AMF0.number(Double(height)))) }
        if let framesPerSecond { values.append(("framerate", AMF0.number(framesPerSecond))) }
        switch videoCodec {
        case nil: break
        case .h264: values.append(("videocodecid", AMF0.number(7)))
        // The FourCC as a number (Enhanced RTMP v1, "Enhancing onMetaData").
        case .h265: values.append(("videocodecid", AMF0.number(Double(FLVTag.hevcFourCC.bigEndian(at: 0, bytes: 4)))))
        }
        if let sampleRate {
            values.append(("audiocodecid", AMF0.number(10)))
            values.append(("audiosamplerate", AMF0.number(Double(sampleRate))))
        }
        if let isStereo { values.append(("stereo", AMF0.boolean(isStereo))) }
        values.append(("hasVideo", AMF0.boolean(width != nil)))
        values.append(("hasAudio", AMF0.boolean(sampleRate != nil)))
        values.append(("encoder", AMF0.string("mixorchestrator")))
        return AMF0.string("onMetaData") + AMF0.array(values)
    }
}

/// The parts of AMF0 that `onMetaData` needs.
private enum AMF0 {
    static func number(_ value: Double) -> [UInt8] {
        [0] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: value.bitPattern >> (8 * UInt64($0))) }
    }

    static func boolean(_ value: Bool) -> [UInt8] { [1, value ? 1 : 0] }

    static func string(_ value: String) -> [UInt8] { [2] + name(value) }

    /// Encodes an ECMA array.
    static func array(_ values: [(String, [UInt8])]) -> [UInt8] {
        var bytes: [UInt8] = [8]
        bytes.appendBigEndian(UInt32(values.count), bytes: 4)
        for (key, value) in values { bytes += name(key) + value }
        return bytes + [0, 0, 9]
    }

    private static func name(_ value: String) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendBigEndian(UInt32(value.utf8.count), bytes: 2)
        return bytes + Array(value.utf8)
    }
}
