/// A reduction of a program's cost while its machine is overloaded. It never ends the program.
public struct Degradation: Hashable, Codable, Sendable {
    /// Level of the reduction, 1…`highest`.
    public var level: Int
    /// The reason, with figures, in words.
    public var reason: String

    /// Highest level. At this level, no new participants are mixed into programs of the same or a lower priority
    /// either.
    public static let highest = 4

    public init(level: Int, reason: String) {
        self.level = level
        self.reason = reason
    }

    /// Distance between rendered canvas frames, in frames: every 2nd, 3rd or 4th frame is rendered.
    public var frameDivisor: Int { Self.frameDivisor(ofLevel: level) }

    /// Returns the frame divisor of a level; 1 for level 0.
    public static func frameDivisor(ofLevel level: Int) -> Int { min(max(level, 0), 3) + 1 }
}

/// The effect of the machine's load on one task, resolved by the owner before a task machine decides.
public struct LoadOrder: Hashable, Sendable {
    /// Reduction of the program; `nil` means none.
    public var degradation: Degradation?
    /// Reason for keeping a bypass although a mix is requested; `nil` means that it is not kept.
    public var holdsBypass: String?

    public init(degradation: Degradation? = nil, holdsBypass: String? = nil) {
        self.degradation = degradation
        self.holdsBypass = holdsBypass
    }
}
