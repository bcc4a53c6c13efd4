import EncodedMedia
import MediaFormats
import MediaSupport

/// Codec configurations, parameter sets, access units and AAC frames. The first byte says which.
enum BitstreamTarget: FuzzTarget {
    static let name = "bitstreams"

    static var seeds: [[UInt8]] {
        [
            [0] + HLSProgram.video(1).bytes, [1] + HLSProgram.video(1).bytes.dropFirst(8),
            [3] + HLSProgram.audio.bytes, [4, 0, 0, 0, 3, 0x65, 1, 2, 0, 0, 0, 2, 0x41, 1],
        ]
    }

    static func run(_ bytes: [UInt8]) {
        guard let kind = bytes.first else { return }
        let rest = Array(bytes.dropFirst())
        switch kind % 5 {
        case 0: configure(CodecConfiguration(track: .video, bytes: rest))
        case 1:
            if let sequence = SequenceParameterSet(nalUnit: rest) { check(sequence) }
        case 2:
            if let sequence = SequenceParameterSet(h265: rest) { check(sequence) }
        case 3:
            _ = AACWindow(rest)
            let configuration = CodecConfiguration(track: .audio, bytes: rest)
            guard let format = AudioSpecificConfig(configuration.bytes) else { return }
            require(format.sampleRate > 0 && format.samplesPerFrame > 0, "\(format)")
            _ = ADTSHeader(format)
        default:
            let frame = EncodedFrame(track: .video, pts: .zero, dts: .zero, isIDR: true, payload: rest)
            for codec in VideoCodec.allCases { for unit in NALUnits(rest) { _ = NALUnitKind(unit, codec) } }
            _ = frame.withParameterSets(of: VideoConfiguration(HLSProgram.video(1)))
            _ = frame.inserting(nalUnit: [6, 5, 1, 0, 0x80], lengthSize: 4, codec: .h264)
        }
    }

    private static func configure(_ configuration: CodecConfiguration) {
        guard let video = VideoConfiguration(configuration) else { return }
        if let sequence = video.sequenceParameters { check(sequence) }
        var program = FLVProgram()
        _ = program.configure(configuration)
        let frame = EncodedFrame(track: .video, pts: .zero, dts: .zero, isIDR: true, payload: [0, 0, 0, 2, 0x65, 1])
        _ = frame.withParameterSets(of: video)
        _ = program.write(frame)
    }

    private static func check(_ sequence: SequenceParameterSet) {
        require(sequence.width > 0 && sequence.height > 0, "\(sequence.width) × \(sequence.height)")
        if let rate = sequence.frameRate { require(rate.isFinite, "rate \(rate)") }
    }
}
