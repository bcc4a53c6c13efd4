@testable import ViewerProbe

extension ProbeReport {
    /// Whether every picture of the host was seen once, and those of guests with one exception. A mix is on the host's
    /// grid and does not wait for a guest's picture that a busy machine delivers half an interval late: it shows the
    /// previous one again.
    func isWhole(host: Int = 1) -> Bool {
        sources.allSatisfy { source in
            source.backward == 0 && source.lost + source.repeated <= (source.id == host ? 0 : 1)
        }
    }
}

extension ProbeLimits {
    /// The project's promise, except for the delay of the mix, which grows on a machine that is busy for a second. The
    /// demo and the benchmarks judge the delay.
    static var ofTests: ProbeLimits {
        var limits = ProbeLimits()
        limits.mixDelayMs = 250
        return limits
    }
}
