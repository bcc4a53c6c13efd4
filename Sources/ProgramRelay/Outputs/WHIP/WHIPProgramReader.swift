import EncodedMedia
import MediaFormats

/// The tracks of a program that is sent over WHIP.
struct WHIPTracks: Hashable, Sendable {
    /// Configuration of the H.264; `nil` for a program without pictures.
    var video: CodecConfiguration?
    var hasAudio: Bool
}

/// Reads a program, which arrives as FLV, and checks that the offer can carry it. Pure.
struct WHIPProgramReader: Sendable {
    private var reader = FLVReader()
    private var video: CodecConfiguration?
    private var hasAudio = false
    /// The tracks; `nil` before the first frame, which follows the configurations of all of them.
    private(set) var tracks: WHIPTracks?

    /// Reads the next bytes.
    ///
    /// - Throws: A fault, after which it must not be called again.
    mutating func push(_ bytes: [UInt8]) throws(OutputFault) -> [MediaItem] {
        let items: [MediaItem]
        do throws(FLVReader.Failure) {
            items = try reader.push(bytes)
        } catch {
            throw OutputFault(.protocolError, "the program cannot be read: \(error)")
        }
        for item in items {
            switch item {
            case .configuration(let configuration): try take(configuration)
            case .frame where tracks == nil: tracks = WHIPTracks(video: video, hasAudio: hasAudio)
            default: break
            }
        }
        return items
    }

    private mutating func take(_ configuration: CodecConfiguration) throws(OutputFault) {
        if configuration.track == .video {
            guard configuration.videoCodec == .h264 else {
                throw OutputFault(
                    .protocolError, "the program is H.265, and WHIP servers take H.264: let its sources publish H.264")
            }
            video = configuration
        } else {
            hasAudio = true
        }
        // A track that was not offered cannot be sent.
        guard let tracks, (tracks.video == nil && video != nil) || (!tracks.hasAudio && hasAudio) else { return }
        throw OutputFault(.connectionLost, "the program has got another track, which needs a new connection")
    }
}
