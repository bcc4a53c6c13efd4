/// Measures one program: makes a measurement of two of its relay's reports between which its work stayed the same. Pure.
public struct CostMeter: Sendable {
    private struct Anchor {
        var workload: Workload
        var load: RelayLoad
        var at: MediaTime
    }
    private var anchor: Anchor?
    /// When the work changed last.
    private var changedAt: (workload: Workload, mixer: Int32?, at: MediaTime)?
    /// The newest measurement.
    public private(set) var newest: CostMeasurement?

    /// Long enough for a mean that says something, short enough to be there before the next change.
    public static let window = MediaTime.seconds(5)
    /// A mixer that has just begun loads codecs and catches up, which is no measure of what it goes on to cost.
    public static let settling = MediaTime.seconds(3)

    public init() {}

    /// Takes a report.
    ///
    /// - Parameters:
    ///   - workload: Of the plan in force, with every frame made.
    ///   - time: Program time of the report.
    /// - Returns: A measurement, when one is complete.
    public mutating func take(_ load: RelayLoad, workload: Workload, at time: MediaTime) -> CostMeasurement? {
        let divided = workload.divided(by: load.mixer?.frameDivisor ?? 1)
        let mixer = load.mixer?.processID
        guard let changed = changedAt, changed.workload == divided, changed.mixer == mixer, changed.at <= time else {
            changedAt = (divided, mixer, time)
            anchor = nil
            newest = nil
            return nil
        }
        // What is planned and what runs must agree: a mixer warms up, or lingers.
        guard time - changed.at >= Self.settling, (workload.mix == nil) == (mixer == nil) else { return nil }
        guard let begin = anchor else {
            anchor = Anchor(workload: divided, load: load, at: time)
            return nil
        }
        guard time - begin.at >= Self.window else { return nil }
        anchor = Anchor(workload: divided, load: load, at: time)
        let seconds = (time - begin.at).inSeconds
        var measurement = CostMeasurement(
            workload: divided, relayCores: max(0, load.relaySeconds - begin.load.relaySeconds) / seconds)
        if let now = load.mixer, let before = begin.load.mixer {
            measurement.mixerCores = max(0, now.cpuSeconds - before.cpuSeconds) / seconds
        }
        newest = measurement
        return measurement
    }
}
