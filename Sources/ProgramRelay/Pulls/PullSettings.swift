import EncodedMedia
import TextFormats

/// What a worker is told to pull. The first line that it reads, because a URL may hold secrets, which arguments of a
/// process must not.
struct PullSettings: Hashable, Codable, Sendable {
    /// URL, with a checked address in place of its host where a connection is made.
    var url: String
    /// Host of the URL as it was given.
    var host: String
    /// Addresses that the pull may go to; `nil` = any.
    var reach: Reach?
    /// Time without media after which the pull ends, in whole seconds; 0 = never.
    var idleTimeout: Int
    /// Whether pictures of H.265 go through untouched, because the program carries them. `nil` means false.
    var carriesH265: Bool?
    /// Whether the stream is not pulled but follows these settings, as FLV with the tracks that have to be transcoded
    /// (`TrackTranscoder`). `nil` means false.
    var isFed: Bool?
}

/// What a worker says beside media, as script tags of its FLV stream (`FLVCue`).
enum PullCue {
    /// A track is encoded by the worker; the text is its name, `video` or `audio`.
    static let transcoded = "pull-transcoded"
    /// The end: `PullEnd.Kind`, a space, and words without secrets.
    static let end = "pull-end"

    /// Returns the track of such a text; `nil` if it names none.
    static func track(_ text: String) -> Track? { text == "video" ? .video : text == "audio" ? .audio : nil }

    static func text(of end: PullEnd) -> String { "\(end.kind.rawValue) \(end.words)" }

    /// Reads the text of an end; one that cannot be read is a lost connection.
    static func end(_ text: String) -> PullEnd {
        let parts = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        return PullEnd(
            parts.first.flatMap { PullEnd.Kind(rawValue: String($0)) } ?? .lost,
            parts.count > 1 ? String(parts[1]) : "the pull has ended")
    }
}
