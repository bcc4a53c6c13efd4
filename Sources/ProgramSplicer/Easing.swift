import MixModel

/// A difference in time that is taken back little by little, so that nobody notices: `step` a frame is less than the
/// milliseconds show that FLV's timestamps have, and some 10 ms a second.
public struct Easing: Sendable {
    static let step = MediaTime(nanoseconds: 200_000)

    /// What is still to be taken back.
    public private(set) var rest: MediaTime

    public init(_ rest: MediaTime = .zero) { self.rest = rest }

    /// `frame` as much later as there is left, which is less for the next one.
    public mutating func place(_ frame: EncodedFrame) -> EncodedFrame {
        defer { rest -= min(max(rest, -Easing.step), Easing.step) }
        return frame.shifted(by: rest)
    }

    /// The frames that follow would come so much later than those before: they go on as if they did not, and ease into it.
    public mutating func absorb(_ amount: MediaTime) { rest -= amount }
}
