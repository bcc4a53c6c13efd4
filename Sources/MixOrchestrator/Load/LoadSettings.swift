import MixModel

/// What the machine may be used for; `admission.*` and `overload.*` of the configuration.
struct LoadSettings: Hashable, Sendable {
    /// Cores that programs may use together; `nil` = what the machine has, 0 = no task is ever refused.
    var cores: Double?
    /// Share of the cores that is booked at most, 0.1…1; the rest is for what cannot be foretold.
    var utilisation = 0.8
    /// 0…4; 0 = nothing is ever made cheaper.
    var highestLevel = Degradation.highest
}
