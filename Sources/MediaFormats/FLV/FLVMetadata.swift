import EncodedMedia

/// The `onMetaData` of a program, in AMF0 (Adobe FLV 10.1 §E.5; AMF 0 specification §2).
public struct FLVMetadata: Hashable, Sendable {
    public var videoCodec: VideoCodec?
    public var width: Int?
    public var height: Int?
    public var framesPerSecond: Double?
    public var sampleRate: Int?
    public var isStereo: Bool?
    /// Whether the publisher shows nothing until its next picture, although it stays connected.
    public var isPaused = false

    /// Property with the value true by which a publisher says so. It is not part of the format; others ignore it.
    private static let pausedProperty = "paused"
    private static let name = "onMetaData"

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
        var values: [AMF0.Property] = []
        func add(_ name: String, _ value: AMF0) { values.append(AMF0.Property(name: name, value: value)) }
        if let width { add("width", .number(Double(width))) }
        if let height { add("height", .number(Double(height))) }
        if let framesPerSecond { add("framerate", .number(framesPerSecond)) }
        switch videoCodec {
        case nil: break
        case .h264: add("videocodecid", .number(7))
        // The FourCC as a number (Enhanced RTMP v1, "Enhancing onMetaData").
        case .h265: add("videocodecid", .number(Double(FLVTag.hevcFourCC.bigEndian(UInt32.self, at: 0) ?? 0)))
        }
        if let sampleRate {
            add("audiocodecid", .number(10))
            add("audiosamplerate", .number(Double(sampleRate)))
        }
        if let isStereo { add("stereo", .boolean(isStereo)) }
        add("hasVideo", .boolean(width != nil))
        add("hasAudio", .boolean(sampleRate != nil))
        add("encoder", .string("mixorchestrator"))
        if isPaused { add(Self.pausedProperty, .boolean(true)) }
        var bytes: [UInt8] = []
        AMF0.string(Self.name).encode(into: &bytes)
        AMF0.ecmaArray(values).encode(into: &bytes)
        return bytes
    }

    /// Returns whether this body of a script tag, which may be anything, is metadata of a publisher that is paused.
    package static func isPaused(_ body: [UInt8]) -> Bool {
        let values = AMF0.decodeAll(body)
        return values.first?.text == name && values.dropFirst().first?[pausedProperty] == .boolean(true)
    }
}
