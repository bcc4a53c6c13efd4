@testable import ViewerProbe

extension ProbeReport {
    /// Returns whether every picture of the host was seen once, and every picture of a guest with at most one
    /// exception. A mix follows the host's grid and does not wait for a guest's picture that a busy machine delivers
    /// half an interval late: it shows the previous one again.
    func isWhole(host: Int = 1) -> Bool {
        sources.allSatisfy { source in
            source.backward == 0 && source.lost + source.repeated <= (source.id == host ? 0 : 1)
        }
    }
}

extension ProbeLimits {
    /// The project's promised limits, except for the delay of the mix, which grows when the machine is busy for a
    /// second. The demo and the benchmarks judge that delay.
    static var ofTests: ProbeLimits {
        var limits = ProbeLimits()
        limits.mixDelayMs = 250
        return limits
    }
}
