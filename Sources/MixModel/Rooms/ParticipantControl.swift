/// An operator's settings for one user of a room. They apply whether or not the user is present.
public struct ParticipantControl: Hashable, Codable, Sendable {
    public let user: UserID
    /// Whether the user is silent in programs.
    public var muted: Bool
    /// Loudness in mixes, in percent of the source's own amplitude, 0…400.
    public var gain: Int
    /// Whether programs are composed as if the user had not joined.
    public var hidden: Bool

    public static let gains = 0...400
    public static let usualGain = 100

    public init(user: UserID, muted: Bool = false, gain: Int = usualGain, hidden: Bool = false) {
        self.user = user
        self.muted = muted
        self.gain = gain
        self.hidden = hidden
    }

    /// Whether all settings have their usual values.
    public var isUsual: Bool { !muted && gain == Self.usualGain && !hidden }

    /// Loudness of the user's audio in programs, in percent; 0 means silence.
    public var level: Int { muted ? 0 : min(max(gain, Self.gains.lowerBound), Self.gains.upperBound) }

    /// Returns the difference from an earlier control, in words for the timeline; `nil` if there is none.
    public func change(since old: ParticipantControl) -> String? {
        var words: [String] = []
        if muted != old.muted { words.append(muted ? "muted" : "unmuted") }
        if gain != old.gain { words.append("gain \(gain) %") }
        if hidden != old.hidden { words.append(hidden ? "hidden" : "shown") }
        return words.isEmpty ? nil : "\(user): \(words.joined(separator: ", "))"
    }
}

/// A requested change of a control. `nil` means unchanged.
public struct ParticipantControlChange: Hashable, Sendable {
    public var muted: Bool?
    public var gain: Int?
    public var hidden: Bool?

    public init(muted: Bool? = nil, gain: Int? = nil, hidden: Bool? = nil) {
        self.muted = muted
        self.gain = gain
        self.hidden = hidden
    }
}

extension Room {
    /// Maximum number of users of a room with controls.
    public static let mostControls = 256

    /// Controls that differ from the usual values, ordered by user.
    public var allControls: [ParticipantControl] { controls ?? [] }

    /// Returns the control of a user, who need not be in the room.
    public func control(of user: UserID) -> ParticipantControl {
        controls?.first { $0.user == user } ?? ParticipantControl(user: user)
    }

    /// Changes the control of a user. A control with the usual values is not stored.
    ///
    /// - Returns: False if too many users have controls; nothing is changed then.
    public mutating func control(_ user: UserID, _ change: ParticipantControlChange) -> Bool {
        var control = control(of: user)
        if let muted = change.muted { control.muted = muted }
        if let gain = change.gain { control.gain = gain }
        if let hidden = change.hidden { control.hidden = hidden }
        var others = allControls.filter { $0.user != user }
        if !control.isUsual {
            guard others.count < Self.mostControls else { return false }
            others.insert(control, at: others.firstIndex { user < $0.user } ?? others.count)
        }
        controls = others.isEmpty ? nil : others
        return true
    }

    /// Returns whether an operator hides the user.
    public func isHidden(_ user: UserID) -> Bool { controls?.contains { $0.user == user && $0.hidden } ?? false }

    /// Streams from which programs are composed, in join order, with their loudness: all that are currently published,
    /// except those of hidden users.
    public var shownStreams: [RoomStream] {
        guard let controls else { return streams }
        let known = Dictionary(controls.map { ($0.user, $0) }) { first, _ in first }
        return streams.compactMap { stream in
            guard let control = known[stream.user] else { return stream }
            guard !control.hidden else { return nil }
            var stream = stream
            stream.level = control.level
            return stream
        }
    }

    /// Whether any stream is published from which programs are composed.
    public var hasShownStreams: Bool {
        participants.contains { !$0.streams.isEmpty && !isHidden($0.user) }
    }

    /// Returns whether programs are composed of the same streams as in an earlier state of the room, with the same loudness.
    public func offersTheSame(as old: Room) -> Bool { participants == old.participants && controls == old.controls }
}
