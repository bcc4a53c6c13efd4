import EncodedMedia

/// Measures the cost of one program between two of its relay's reports while its workload stays the same. Pure.
public struct CostMeter: Sendable {
    private struct Anchor {
        var workload: Workload
        var load: RelayLoad
        var at: MediaTime
    }
    private var anchor: Anchor?
    /// Last change of the workload.
    private var changedAt: (workload: Workload, mixer: Int32?, at: MediaTime)?
    /// Newest measurement of the current workload.
    public private(set) var newest: CostMeasurement?

    /// Shortest duration of a measurement: long enough for a meaningful mean, short enough to end before the next
    /// change.
    public static let window = MediaTime.seconds(5)
    /// Time after a change that is not measured. A new mixer loads codecs and catches up, which says nothing about its
    /// later cost.
    public static let settling = MediaTime.seconds(3)

    public init() {}

    /// Takes a report.
    ///
    /// - Parameters:
    ///   - workload: Workload of the plan in force, with every frame rendered.
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
        // Plan and processes must agree: a mixer may be warming up, or lingering.
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
