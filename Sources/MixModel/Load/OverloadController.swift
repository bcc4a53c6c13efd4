/// Decides which programs are degraded while a machine is overloaded, and when they are restored. Pure.
///
/// It takes one step at a time. A step up follows some seconds of overload and takes the lowest priority first, and
/// within it the costliest program. A step down follows a longer calm and takes the highest priority first, and only if
/// the load it brings back leaves room. A step down that had to be reverted doubles the wait before the next one, so
/// that levels settle instead of oscillating.
public struct OverloadController: Sendable {
    public struct Limits: Hashable, Sendable {
        /// Busy share of the machine, 0…1, from which it is overloaded, and below which it is calm.
        public var overloaded = 0.92
        public var calm = 0.70
        /// Busy share from which the machine is overloaded if tasks wait for a processor for the share `pressure` of
        /// the time.
        public var pressed = 0.85
        public var pressure = 0.60
        /// Limit for the busy share that a step down may lead to.
        public var ceiling = 0.85
        /// Maximum share of the mixers' frames that may be late.
        public var lateFrames = 0.10
        /// Duration of overload before a step up, and of calm before a step down, in nanoseconds.
        public var overloadedFor: Int64 = 3_000_000_000
        public var calmFor: Int64 = 20_000_000_000
        /// Maximum to which relapses extend `calmFor`, in nanoseconds.
        public var longestCalm: Int64 = 320_000_000_000
        /// Time after a step down within which a step up is a relapse, in nanoseconds.
        public var relapse: Int64 = 60_000_000_000
        /// Share of the machine that mixers must use to be the cause of its load.
        public var blame = 0.10
        /// Highest level of degradation; 0 means that programs are never degraded.
        public var highestLevel = Degradation.highest

        public init() {}
    }

    /// The measurements since the previous sample.
    public struct Sample: Hashable, Sendable {
        /// Time of the sample, in nanoseconds of CLOCK_MONOTONIC.
        public var time: Int64
        /// Busy share of the machine, 0…1.
        public var utilisation: Double
        /// Share of the time in which some task waited for a processor, 0…1 (Linux PSI, cpu `some`); `nil` means
        /// unknown.
        public var pressure: Double?
        /// Share of late and missing frames among the mixers' frames, 0…1.
        public var lateFrames: Double

        public init(time: Int64, utilisation: Double, pressure: Double? = nil, lateFrames: Double = 0) {
            self.time = time
            self.utilisation = utilisation
            self.pressure = pressure
            self.lateFrames = lateFrames
        }
    }

    /// A program on air.
    public struct Program: Sendable {
        public var task: TaskID
        /// Priority, 0…9. Programs with a lower one are degraded first.
        public var priority: Int
        /// Whether the program is a mix. Only a mix can be degraded.
        public var isMixing: Bool
        /// Returns the share of the machine that the program uses at a level, 0…`Degradation.highest`. Called only
        /// while the machine is busy or a program is degraded.
        public var cost: @Sendable (_ level: Int) -> Double

        public init(task: TaskID, priority: Int, isMixing: Bool, cost: @escaping @Sendable (_ level: Int) -> Double) {
            self.task = task
            self.priority = priority
            self.isMixing = isMixing
            self.cost = cost
        }
    }

    /// A change of one program's level.
    public struct Step: Hashable, Sendable {
        public var task: TaskID
        public var from: Int
        public var to: Int
        /// Reason with figures, in words.
        public var reason: String
    }

    public let limits: Limits
    /// Levels of the programs on air. Programs without an entry are not degraded.
    public private(set) var levels: [TaskID: Int] = [:]

    private var overloadedSince: Int64?
    private var calmSince: Int64?
    private var calmNeeded: Int64
    private var lastDown: Int64?
    private var lastUp: Int64?

    public init(limits: Limits = Limits()) {
        self.limits = limits
        calmNeeded = limits.calmFor
    }

    /// Restores the level that an earlier controller gave a task, so that its program stays as it is.
    public mutating func restore(_ task: TaskID, level: Int) { levels[task] = min(level, limits.highestLevel) }

    /// Returns the highest priority at which no new participants are mixed in; `nil` if there is no such limit.
    public func heldPriority(among programs: [Program]) -> Int? {
        programs.filter { levels[$0.task] ?? 0 >= Degradation.highest }.map(\.priority).max()
    }

    /// Takes a sample, about once a second, and returns the step to perform, if any.
    public mutating func take(_ sample: Sample, programs: [Program]) -> Step? {
        let onAir = Set(programs.map(\.task))
        levels = levels.filter { $0.value > 0 && onAir.contains($0.key) }
        let now = sample.time
        let reason = overload(sample, programs)
        overloadedSince = reason == nil ? nil : overloadedSince ?? now
        let isCalm = sample.utilisation < limits.calm && sample.lateFrames <= limits.lateFrames / 10
        calmSince = isCalm ? calmSince ?? now : nil
        if let lastUp, now - lastUp > limits.longestCalm { calmNeeded = limits.calmFor }
        if let since = overloadedSince, now - since >= limits.overloadedFor, let reason {
            return stepUp(programs, reason: reason, now: now)
        }
        if let since = calmSince, now - since >= calmNeeded { return stepDown(programs, sample, now: now) }
        return nil
    }

    /// Describes the overload in words; returns `nil` if there is none.
    private func overload(_ sample: Sample, _ programs: [Program]) -> String? {
        if sample.lateFrames > limits.lateFrames {
            return "\(percent(sample.lateFrames)) of the mixed frames are late"
        }
        let isPressed = sample.pressure.map { $0 >= limits.pressure && sample.utilisation >= limits.pressed } ?? false
        guard sample.utilisation >= limits.overloaded || isPressed else { return nil }
        // Degrading programs does not help a machine that is busy with something else.
        let ours = programs.filter(\.isMixing).reduce(0) { $0 + $1.cost(levels[$1.task] ?? 0) }
        guard ours >= limits.blame else { return nil }
        let busy = "the machine is \(percent(sample.utilisation)) busy"
        guard sample.utilisation < limits.overloaded, let pressure = sample.pressure else { return busy }
        return "\(busy) and work waits for a core \(percent(pressure)) of the time"
    }

    private mutating func stepUp(_ programs: [Program], reason: String, now: Int64) -> Step? {
        let mixing = programs.filter(\.isMixing)
        // All programs first give up frames; only then are no new participants mixed in.
        for limit in [min(limits.highestLevel, Degradation.highest - 1), limits.highestLevel] {
            let candidates = mixing.filter { levels[$0.task] ?? 0 < limit }
            let first = candidates.min { left, right in
                let costs = (left.cost(levels[left.task] ?? 0), right.cost(levels[right.task] ?? 0))
                return (left.priority, -costs.0, left.task) < (right.priority, -costs.1, right.task)
            }
            guard let first else { continue }
            if let lastDown, now - lastDown < limits.relapse { calmNeeded = min(calmNeeded * 2, limits.longestCalm) }
            lastUp = now
            lastDown = nil
            // This step has to take effect before the next.
            overloadedSince = now
            calmSince = nil
            return step(first.task, by: 1, reason)
        }
        return nil
    }

    private mutating func stepDown(_ programs: [Program], _ sample: Sample, now: Int64) -> Step? {
        let degraded = programs.filter { levels[$0.task] ?? 0 > 0 }
        func added(_ program: Program) -> Double {
            guard program.isMixing, let level = levels[program.task] else { return 0 }
            return max(0, program.cost(level - 1) - program.cost(level))
        }
        let first = degraded.filter { sample.utilisation + added($0) < limits.ceiling }.min { left, right in
            (-left.priority, -(levels[left.task] ?? 0), added(left), left.task)
                < (-right.priority, -(levels[right.task] ?? 0), added(right), right.task)
        }
        guard let first else { return nil }
        lastDown = now
        calmSince = now
        return step(first.task, by: -1, "the machine is down to \(percent(sample.utilisation)) busy")
    }

    private mutating func step(_ task: TaskID, by amount: Int, _ reason: String) -> Step {
        let from = levels[task] ?? 0
        levels[task] = from + amount
        return Step(task: task, from: from, to: from + amount, reason: reason)
    }

    private func percent(_ share: Double) -> String { "\(Int(saturating: (share * 100).rounded())) %" }
}
