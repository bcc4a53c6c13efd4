@testable import ViewerProbe

extension ProbeReport {
    /// Whether every picture of the host was seen once, and those of guests but for one. A mix is on the host's grid and does
    /// not wait for a guest's picture that a busy machine brings half an interval late: the one before is shown again.
    func isWhole(host: Int = 1) -> Bool {
        sources.allSatisfy { source in
            source.backward == 0 && source.lost + source.repeated <= (source.id == host ? 0 : 1)
        }
    }
}
