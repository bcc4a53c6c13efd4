import LayoutEngine

/// Whether a machine can carry another program: what is free now and what programs cost. Pure; a snapshot.
public struct Admission: Hashable, Sendable {
    /// What may still be used, in cores; negative while more is used than shall be.
    public var availableCores: Double
    public var costs: CostModel
    /// When asking again is worth while, in seconds.
    public var retryAfter: Int

    public init(availableCores: Double, costs: CostModel, retryAfter: Int = 5) {
        self.availableCores = availableCores
        self.costs = costs
        self.retryAfter = retryAfter
    }

    /// What has to be free for a program to be taken on: what it would put on air now, and enough to become a mix of
    /// two. Only the former is booked: rooms do not all become mixes at once, but the newest one can.
    public func neededCores(_ program: ProgramPlanner.Program) -> Double {
        guard program.tracks != .audio else { return bookedCores(program) }
        return max(
            bookedCores(program),
            costs.cores(.mixOfTwo(on: program.scene.canvas, videoCodec: program.encoding?.videoCodec)))
    }

    /// What a program costs as it is planned, in cores.
    public func bookedCores(_ program: ProgramPlanner.Program) -> Double {
        costs.cores(
            Workload(
                mode: program.mode, scene: program.scene, sources: program.sources, outputs: program.outputs.count,
                hasVideo: program.tracks != .audio, videoCodec: program.encoding?.videoCodec))
    }

    /// `nil` when the program can be taken on.
    public func refusal(of program: ProgramPlanner.Program) -> AdmissionRefusal? {
        let needed = neededCores(program)
        guard needed > availableCores else { return nil }
        return AdmissionRefusal(
            neededCores: needed, availableCores: max(0, availableCores), bookedCores: bookedCores(program),
            retryAfter: retryAfter)
    }
}

/// Why a program is not taken on now.
public struct AdmissionRefusal: Error, Hashable, Codable, Sendable, CustomStringConvertible {
    public var neededCores: Double
    public var availableCores: Double
    /// What the program would use up, in cores: it is less than what it needs while it is a bypass.
    public var bookedCores: Double
    /// In seconds.
    public var retryAfter: Int

    public init(neededCores: Double, availableCores: Double, bookedCores: Double, retryAfter: Int) {
        self.neededCores = neededCores
        self.availableCores = availableCores
        self.bookedCores = bookedCores
        self.retryAfter = retryAfter
    }

    public var description: String {
        "no capacity: the program needs \(rounded(neededCores)) cores and \(rounded(availableCores)) are free"
    }

    private func rounded(_ cores: Double) -> Double { (cores * 100).rounded() / 100 }
}
