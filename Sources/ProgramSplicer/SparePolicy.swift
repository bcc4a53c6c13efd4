import EncodedMedia

/// Decides when a spare mixer process waits although nothing is mixed, so that a participant who joins does not wait
/// for its start: about 100 ms, more on a busy machine.
public struct SparePolicy: Sendable {
    /// Time for which the process waits after a mix, or after a bypass during which it waited.
    public static let patience = MediaTime.seconds(60)

    private let isStartInstant: Bool
    private var until = MediaTime.zero

    /// - Parameter isStartInstant: Whether a process can be started instantly, so that none needs to wait for unknown
    ///   participants.
    public init(isStartInstant: Bool = false) { self.isStartInstant = isStartInstant }

    /// - Parameters:
    ///   - decision: The director's decision for the program.
    ///   - onAir: The feed that is on air.
    ///   - isCalm: Whether one participant's bypass is on air undisturbed, and nothing is about to change.
    ///   - canAfford: Whether a process may wait for participants who are not known yet.
    ///   - isBusy: Whether the machine is overloaded; starting a process takes processor time from the mix on air.
    ///   - now: Program time.
    public mutating func isWanted(
        for decision: ProgramDirector.Decision, onAir: SpliceInput?, isCalm: Bool, canAfford: Bool,
        isBusy: Bool = false,
        now: MediaTime
    ) -> Bool {
        if isStartInstant { return decision.mixer == .warm }
        let isLeavingMix = if case .source = decision.aim { onAir?.isMixer ?? false } else { false }
        // Participants leave and come back, and others join as soon as the first one is on air.
        if isLeavingMix || canAfford && (isCalm || decision.aim == .wait) { until = now + Self.patience }
        // A mixer that is being left is of no use to participants who join after it.
        return decision.mixer == .warm || now < until && (decision.mixer == .none || isLeavingMix && !isBusy)
    }
}
