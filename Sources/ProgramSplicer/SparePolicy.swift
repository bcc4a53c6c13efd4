import MixModel

/// Decides when a mixer's process waits although nothing is mixed, so that whoever joins does not wait for its start:
/// some 100 ms, more where the processor is busy.
public struct SparePolicy: Sendable {
    /// How long it waits after a mix, or after a bypass it waited beside.
    public static let patience = MediaTime.seconds(60)

    private var until = MediaTime.zero

    public init() {}

    /// - Parameters:
    ///   - decision: what the program shall be.
    ///   - onAir: what it is.
    ///   - isCalm: one person's bypass goes its way, and nothing is about to change.
    ///   - canAfford: a process may wait for people of whom nothing is known yet.
    ///   - isBusy: the machine carries too much; starting a process takes the processor from the mix on air.
    ///   - now: program time.
    public mutating func isWanted(
        for decision: ProgramDirector.Decision, onAir: Feed?, isCalm: Bool, canAfford: Bool, isBusy: Bool = false,
        now: MediaTime
    ) -> Bool {
        let isLeavingMix = if case .source = decision.aim { onAir?.isMixer ?? false } else { false }
        // People leave and come back, and others join as soon as the first one is on air.
        if isLeavingMix || canAfford && (isCalm || decision.aim == .wait) { until = now + Self.patience }
        // A mixer that is left is of no use to those who join after it.
        return decision.mixer == .warm || now < until && (decision.mixer == .none || isLeavingMix && !isBusy)
    }
}
