import EncodedMedia
import MediaFormats

extension FLVTag {
    /// Returns FLV without a header: the configurations, then pictures that need not be decodable, with a keyframe each
    /// second, and sound.
    ///
    /// - Parameters:
    ///   - record: The AVCDecoderConfigurationRecord.
    ///   - start: Time of the first picture in seconds.
    static func program(_ record: [UInt8], from start: Int, seconds: Int) -> [UInt8] {
        let time = MediaTime.seconds(Double(start))
        var tags = [
            FLVTag(CodecConfiguration(track: .video, bytes: record), at: time, origin: .zero),
            FLVTag(CodecConfiguration(track: .audio, bytes: [0x11, 0x90]), at: time, origin: .zero),
        ]
        for index in 0..<seconds * 20 {
            let at = time + .milliseconds(index * 50)
            let isIDR = index % 20 == 0
            let payload: [UInt8] = [0, 0, 1, 0, isIDR ? 0x65 : 0x41] + [UInt8](repeating: 0xAA, count: 255)
            tags.append(
                FLVTag(EncodedFrame(track: .video, pts: at, dts: at, isIDR: isIDR, payload: payload), origin: .zero))
            for part in 0..<2 {
                let at = at + .milliseconds(part * 25)
                tags.append(
                    FLVTag(EncodedFrame(track: .audio, pts: at, dts: at, payload: [0x21, 1, 2]), origin: .zero))
            }
        }
        return tags.flatMap(\.encoded)
    }
}
