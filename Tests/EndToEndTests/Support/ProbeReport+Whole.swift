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

extension ProbeLimits {
    /// The project's promise, but for the delay of the mix, of which a machine that is busy for a second adds some. The demo and
    /// the benchmarks judge that.
    static var ofTests: ProbeLimits {
        var limits = ProbeLimits()
        limits.mixDelayMs = 250
        return limits
    }
}
