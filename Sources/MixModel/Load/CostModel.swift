/// A model of the cost of programs on this machine: measured priors, corrected by running relays and mixers. Pure.
public struct CostModel: Hashable, Codable, Sendable {
    public private(set) var relay: CostEstimator
    public private(set) var mixer: CostEstimator

    /// Prior in cores for a relay, and for each stream it pulls or pushes (docs/adr/0009, docs/adr/0016).
    static let relayPrior = [0.004, 0.003]
    /// Prior in cores for a mixer; for a megapixel per second composed and encoded, decoded, and scaled; for an audio
    /// stream; for the extra cost of a megapixel per second in H.265; and for one encoded with the mixer's own
    /// settings, the unit in which the extra work of presets is counted (docs/adr/0016, docs/adr/0029, docs/adr/0039).
    static let mixerPrior = [0.052, 0.0014, 0.0019, 0.0029, 0.0144, 0.0214, 0.0046]

    public init() {
        relay = CostEstimator(prior: Self.relayPrior)
        mixer = CostEstimator(prior: Self.mixerPrior)
    }

    /// Returns the predicted cost of a workload, in cores.
    public func cores(_ workload: Workload) -> Double {
        relay.predict(workload.relayFeatures) + (workload.mixerFeatures.map(mixer.predict) ?? 0) * workload.mixers
    }

    /// Learns from the measured cost of a program.
    public mutating func learn(_ measurement: CostMeasurement) {
        relay.learn(measurement.workload.relayFeatures, measured: measurement.relayCores)
        if let features = measurement.workload.mixerFeatures, let cores = measurement.mixerCores {
            mixer.learn(features, measured: cores)
        }
    }

    /// Whether the model is usable. False if it was stored by another release with other priors, or was damaged.
    public var isUsable: Bool {
        relay.prior == Self.relayPrior && mixer.prior == Self.mixerPrior && relay.isSound && mixer.isSound
    }
}

/// The measured cost of one program while its workload stayed the same.
public struct CostMeasurement: Hashable, Sendable {
    public var workload: Workload
    /// Mean use by the relay over the measurement, in cores.
    public var relayCores: Double
    /// Mean use by the mixer on air over the measurement, in cores; `nil` without a mixer.
    public var mixerCores: Double?

    public init(workload: Workload, relayCores: Double, mixerCores: Double? = nil) {
        self.workload = workload
        self.relayCores = relayCores
        self.mixerCores = mixerCores
    }

    /// Mean use by all processes of the program, in cores; a twin counts as much as the mixer on air.
    public var cores: Double { relayCores + (mixerCores ?? 0) * workload.mixers }
}
