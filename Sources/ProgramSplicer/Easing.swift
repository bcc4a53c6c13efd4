import EncodedMedia

/// A time difference that is removed gradually, so that viewers do not notice it. Each frame removes at most `step`,
/// which is less than the millisecond resolution of FLV timestamps and adds up to about 10 ms a second.
public struct Easing: Sendable {
    static let step = MediaTime(nanoseconds: 200_000)

    /// Difference that remains to be removed.
    public private(set) var rest: MediaTime

    public init(_ rest: MediaTime = .zero) { self.rest = rest }

    /// Returns `frame` shifted by `rest`, then reduces `rest` by at most one step.
    public mutating func place(_ frame: EncodedFrame) -> EncodedFrame {
        defer { rest -= min(max(rest, -Easing.step), Easing.step) }
        return frame.shifted(by: rest)
    }

    /// Cancels a step of `amount` in the frames that follow: they continue without it and ease into it.
    public mutating func absorb(_ amount: MediaTime) { rest -= amount }
}
