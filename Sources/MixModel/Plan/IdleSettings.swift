import TextFormats

/// Media that a program plays in place of the slate, while no participant can be shown.
public struct IdleSettings: Hashable, Codable, Sendable {
    /// Files and URLs, played one after another: 1…`mostMedia`. A file is a path relative to the media directory.
    public var media: [String]
    /// Whether the list begins anew after its last entry; otherwise the slate follows.
    public var loop: Bool

    public static let mostMedia = 64

    public init(media: [String], loop: Bool = true) {
        self.media = media
        self.loop = loop
    }

    /// Returns a name for people: the path of a file, or a URL without anything that may be secret.
    public static func name(of reference: String) -> String {
        isURL(reference) ? URLRedaction.shown(reference) : reference
    }

    public static func isURL(_ reference: String) -> Bool { reference.contains("://") }
}

/// The part of a plan that says what is played while no participant can be shown.
public struct IdlePlan: Hashable, Codable, Sendable {
    public struct Item: Hashable, Codable, Sendable {
        /// Name for people.
        public var name: String
        /// Absolute path of a local file.
        public var path: String

        public init(name: String, path: String) {
            self.name = name
            self.path = path
        }
    }

    public var items: [Item]
    /// Whether the list begins anew after its last item.
    public var loops: Bool

    public init(items: [Item], loops: Bool) {
        self.items = items
        self.loops = loops
    }
}

/// What is played while no participant can be shown, as mixers and relays report it.
public struct IdleStatus: Hashable, Codable, Sendable {
    public enum State: String, Hashable, Codable, Sendable {
        /// Viewers see or hear the media.
        case playing
        /// The list has ended; the slate is shown.
        case ended
        /// Nothing of the list can be played; the slate is shown, and the list is tried again from time to time.
        case failed
    }

    public var state: State
    /// Name of the item that is played, or that failed last.
    public var media: String?
    /// Reason of the last failure, in words for operators.
    public var error: String?

    public init(state: State, media: String? = nil, error: String? = nil) {
        self.state = state
        self.media = media
        self.error = error
    }
}

extension SourceID {
    /// The media that are played while no participant can be shown. No participant's stream has this name, because
    /// `media` is not a kind of stream.
    public static let idle = SourceID("idle/media")
}
