/// How a program is made cheaper while its machine carries too much. Never ends it.
public struct Degradation: Hashable, Codable, Sendable {
    /// 1…`highest`.
    public var level: Int
    /// Why, with figures, in words.
    public var reason: String

    /// At this level also nobody new is mixed into programs of the same or a lower priority.
    public static let highest = 4

    public init(level: Int, reason: String) {
        self.level = level
        self.reason = reason
    }

    /// Each so manieth frame of the canvas is made: half of them, a third, a quarter.
    public var frameDivisor: Int { Self.frameDivisor(ofLevel: level) }

    /// 1 for level 0.
    public static func frameDivisor(ofLevel level: Int) -> Int { min(max(level, 0), 3) + 1 }
}

/// What the load of the machine means for one task; resolved by the owner before a machine decides.
public struct LoadOrder: Hashable, Sendable {
    /// `nil` = undiminished.
    public var degradation: Degradation?
    /// Why a bypass stays although a mix is asked for; `nil` = it does not.
    public var holdsBypass: String?

    public init(degradation: Degradation? = nil, holdsBypass: String? = nil) {
        self.degradation = degradation
        self.holdsBypass = holdsBypass
    }
}
