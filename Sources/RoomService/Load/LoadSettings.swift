import MixModel

/// Limits on the use of the machine: `admission.*` and `overload.*` of the configuration.
package struct LoadSettings: Hashable, Sendable {
    /// Cores that programs may use in total; `nil` = all of the machine's, 0 = no task is ever refused.
    var cores: Double?
    /// Maximum share of the cores that can be booked, 0.1…1. The rest is a reserve for unforeseen load.
    package var utilisation = 0.8
    /// Highest level of degradation, 0…4; 0 = no program is ever degraded.
    var highestLevel = Degradation.highest

    package init(cores: Double? = nil, utilisation: Double = 0.8, highestLevel: Int = Degradation.highest) {
        self.cores = cores
        self.utilisation = utilisation
        self.highestLevel = highestLevel
    }
}
