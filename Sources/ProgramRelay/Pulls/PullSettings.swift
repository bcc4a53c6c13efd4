import EncodedMedia
import TextFormats

/// The settings of a worker's pull, as the first line that it reads: a URL may contain secrets, which must not be
/// process arguments.
struct PullSettings: Hashable, Codable, Sendable {
    /// The URL, with a checked address instead of its host if a connection is made.
    var url: String
    /// Host of the URL as it was given.
    var host: String
    /// Addresses to which the pull may connect; `nil` allows any.
    var reach: Reach?
    /// Time without media after which the pull ends, in whole seconds; 0 means never.
    var idleTimeout: Int
    /// Time for which packets may be delayed. `nil` uses the default of the kind of pull.
    var latency: MediaTime?
    /// Whether H.265 passes through untouched, because the program carries it. `nil` means false.
    var carriesH265: Bool?
    /// Whether the stream is not pulled but follows these settings, as FLV with the tracks to transcode
    /// (`TrackTranscoder`). `nil` means false.
    var isFed: Bool?
}

/// Messages of a worker in its FLV stream, as script tags (`FLVCue`).
enum PullCue {
    /// A track is encoded by the worker; the text is its name, `video` or `audio`.
    static let transcoded = "pull-transcoded"
    /// The end: `PullEnd.Kind`, a space, and a description without secrets.
    static let end = "pull-end"

    /// Returns the track named by the text; `nil` if it names none.
    static func track(_ text: String) -> Track? { text == "video" ? .video : text == "audio" ? .audio : nil }

    static func text(of end: PullEnd) -> String { "\(end.kind.rawValue) \(end.words)" }

    /// Parses the text of an end; an unreadable one counts as a lost connection.
    static func end(_ text: String) -> PullEnd {
        let parts = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        return PullEnd(
            parts.first.flatMap { PullEnd.Kind(rawValue: String($0)) } ?? .lost,
            parts.count > 1 ? String(parts[1]) : "the pull has ended")
    }
}
