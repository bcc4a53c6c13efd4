import EncodedMedia

/// Writes a continuous program as MPEG-TS, for receivers that may join at any time. Pure.
///
/// The tables come before each IDR and at least every 100 ms of the program, as in broadcasting (ETSI TR 101 290,
/// §5.2.1, requires 500 ms).
package struct ProgramPackets: Sendable {
    private static let tableInterval = MediaTime.milliseconds(100)

    private var writer = TransportStreamWriter()
    private var video: CodecConfiguration?
    private var audio: CodecConfiguration?
    private var tablesAt: MediaTime?

    package init() {}

    /// Returns the packets of the next items of the program.
    package mutating func bytes(of items: [MediaItem]) -> [UInt8] {
        var output: [UInt8] = []
        var frames: [EncodedFrame] = []
        func flush(_ packets: inout ProgramPackets) {
            guard let first = frames.first else { return }
            let isDue = packets.tablesAt.map { first.dts - $0 >= Self.tableInterval || first.dts < $0 } ?? true
            let hasTables = isDue || frames.contains(where: \.isIDR)
            if hasTables { packets.tablesAt = first.dts }
            output += packets.writer.segment(
                frames, video: packets.video, audio: packets.audio, hasTables: hasTables, isWhole: false)
            frames = []
        }
        for item in items {
            switch item {
            case .configuration(let configuration):
                flush(&self)
                tablesAt = nil
                switch configuration.track {
                case .video: video = configuration
                case .audio: audio = configuration
                }
            case .frame(let frame):
                if frame.isIDR { flush(&self) }
                frames.append(frame)
            default: break
            }
        }
        flush(&self)
        return output
    }
}
