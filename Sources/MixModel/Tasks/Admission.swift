import LayoutEngine

/// A snapshot of free capacity and costs that decides whether a machine can carry another program. Pure.
public struct Admission: Hashable, Sendable {
    /// Capacity that may still be used, in cores. Negative while more is used than allowed.
    public var availableCores: Double
    public var costs: CostModel
    /// Time after which another request is worthwhile, in seconds.
    public var retryAfter: Int

    public init(availableCores: Double, costs: CostModel, retryAfter: Int = 5) {
        self.availableCores = availableCores
        self.costs = costs
        self.retryAfter = retryAfter
    }

    /// Returns the capacity that must be free for a program to be admitted, in cores: the cost of the program as it
    /// would now be put on air, and at least that of a mix of two unless it is audio only. Only the former is booked:
    /// rooms do not all become mixes at once, but the newest one can.
    public func neededCores(_ program: ProgramPlanner.Program) -> Double {
        guard program.tracks != .audio else { return bookedCores(program) }
        return max(
            bookedCores(program),
            costs.cores(
                .mixOfTwo(
                    on: program.scene.canvas, encoding: program.encoding, redundancy: program.redundancy)))
    }

    /// Returns the cost of a program as planned, in cores.
    public func bookedCores(_ program: ProgramPlanner.Program) -> Double {
        costs.cores(
            Workload(
                mode: program.mode, scene: program.scene, sources: program.sources,
                outputs: program.outputs.connections,
                hasVideo: program.tracks != .audio, encoding: program.encoding, redundancy: program.redundancy))
    }

    /// Returns the reason for refusing the program; `nil` if it can be admitted.
    public func refusal(of program: ProgramPlanner.Program) -> AdmissionRefusal? {
        let needed = neededCores(program)
        guard needed > availableCores else { return nil }
        return AdmissionRefusal(
            neededCores: needed, availableCores: max(0, availableCores), bookedCores: bookedCores(program),
            retryAfter: retryAfter)
    }
}

/// The reason why a program is not admitted now.
public struct AdmissionRefusal: Error, Hashable, Codable, Sendable, CustomStringConvertible {
    public var neededCores: Double
    public var availableCores: Double
    /// Capacity that the program would use, in cores. It is less than the needed capacity while the program is a
    /// bypass.
    public var bookedCores: Double
    /// Time after which another request is worthwhile, in seconds.
    public var retryAfter: Int

    public init(neededCores: Double, availableCores: Double, bookedCores: Double, retryAfter: Int) {
        self.neededCores = neededCores
        self.availableCores = availableCores
        self.bookedCores = bookedCores
        self.retryAfter = retryAfter
    }

    public var description: String { "no capacity: \(figures)" }

    /// The figures alone, for a text that already names the missing resource.
    public var figures: String {
        "the program needs \(rounded(neededCores)) cores, \(rounded(availableCores)) are free"
    }

    private func rounded(_ cores: Double) -> Double { (cores * 100).rounded() / 100 }
}
