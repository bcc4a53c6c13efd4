import TextFormats

/// Media that a program plays in place of the slate, while no participant can be shown.
public struct IdleSettings: Hashable, Codable, Sendable {
    /// Files and URLs, played one after another: 1…`mostMedia`. A file is a path relative to the media directory.
    public var media: [String]
    /// Whether the list starts again after its last entry; otherwise the slate follows.
    public var loop: Bool

    public static let mostMedia = 64

    public init(media: [String], loop: Bool = true) {
        self.media = media
        self.loop = loop
    }

    /// Returns a display name: the path of a file, or a URL without any part that may be secret.
    public static func name(of reference: String) -> String {
        isURL(reference) ? URLRedaction.shown(reference) : reference
    }

    public static func isURL(_ reference: String) -> Bool { reference.contains("://") }
}

/// The part of a plan that specifies the media to play while no participant can be shown.
public struct IdlePlan: Hashable, Codable, Sendable {
    public struct Item: Hashable, Codable, Sendable {
        /// Display name.
        public var name: String
        /// Absolute path of a local file.
        public var path: String

        public init(name: String, path: String) {
            self.name = name
            self.path = path
        }
    }

    public var items: [Item]
    /// Whether the list starts again after its last item.
    public var loops: Bool

    public init(items: [Item], loops: Bool) {
        self.items = items
        self.loops = loops
    }
}

/// The state of the media played while no participant can be shown, as reported by mixers and relays.
public struct IdleStatus: Hashable, Codable, Sendable {
    public enum State: String, Hashable, Codable, Sendable {
        /// Viewers see or hear the media.
        case playing
        /// The list has ended; the slate is shown.
        case ended
        /// No item of the list can be played; the slate is shown, and the list is retried periodically.
        case failed
    }

    public var state: State
    /// Name of the item that is being played, or that failed last.
    public var media: String?
    /// The reason for the last failure, in words for operators.
    public var error: String?

    public init(state: State, media: String? = nil, error: String? = nil) {
        self.state = state
        self.media = media
        self.error = error
    }
}

extension SourceID {
    /// The source of the media played while no participant can be shown. No participant's stream has this name, because
    /// `media` is not a kind of stream.
    public static let idle = SourceID("idle/media")
}
