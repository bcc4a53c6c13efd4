/// Decides which programs are made cheaper while a machine carries too much, and when they are made whole again. Pure.
///
/// One step at a time: up after some seconds of overload, the lowest priority first and of these the costliest; down
/// after a longer calm, the highest priority first, and only if the load it brings back leaves room. A step down that
/// had to be taken back makes the next one wait twice as long, so that levels settle instead of swinging.
public struct OverloadController: Sendable {
    public struct Limits: Hashable, Sendable {
        /// Busy share of the machine, 0…1, from which it is overloaded, and below which it is calm.
        public var overloaded = 0.92
        public var calm = 0.70
        /// With tasks waiting for a processor for `pressure` of the time, a machine is overloaded from here on.
        public var pressed = 0.85
        public var pressure = 0.60
        /// What a step down may bring the busy share to.
        public var ceiling = 0.85
        /// Share of the mixers' frames that may be late.
        public var lateFrames = 0.10
        /// How long it is overloaded before a step up, and calm before a step down, in ns.
        public var overloadedFor: Int64 = 3_000_000_000
        public var calmFor: Int64 = 20_000_000_000
        /// The most that relapses make of `calmFor`, in ns.
        public var longestCalm: Int64 = 320_000_000_000
        /// A step up within so long after one down is a relapse, in ns.
        public var relapse: Int64 = 60_000_000_000
        /// Mixers that use less than this share of the machine are not what it is busy with.
        public var blame = 0.10
        /// 0 = nothing is ever made cheaper.
        public var highestLevel = Degradation.highest

        public init() {}
    }

    /// What was measured since the sample before.
    public struct Sample: Hashable, Sendable {
        /// Of CLOCK_MONOTONIC, in ns.
        public var time: Int64
        /// Busy share of the machine, 0…1.
        public var utilisation: Double
        /// Share of the time in which something waited for a processor, 0…1 (Linux PSI, cpu `some`); `nil` = unknown.
        public var pressure: Double?
        /// Late and missing ones among the mixers' frames, 0…1.
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
        /// 0…9; lower ones are made cheaper first.
        public var priority: Int
        /// Only what is mixed can be made cheaper.
        public var isMixing: Bool
        /// Share of the machine at a level, 0…`Degradation.highest`. Worked out when asked for, which is while the machine
        /// is busy, or a program is cheaper than it should be.
        public var cost: @Sendable (_ level: Int) -> Double

        public init(task: TaskID, priority: Int, isMixing: Bool, cost: @escaping @Sendable (_ level: Int) -> Double) {
            self.task = task
            self.priority = priority
            self.isMixing = isMixing
            self.cost = cost
        }
    }

    /// One step of one program.
    public struct Step: Hashable, Sendable {
        public var task: TaskID
        public var from: Int
        public var to: Int
        /// With figures, in words.
        public var reason: String
    }

    public let limits: Limits
    /// Of the programs on air; those that are not here are whole.
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

    /// Goes on where an earlier controller was: programs stay as cheap as they are.
    public mutating func restore(_ task: TaskID, level: Int) { levels[task] = min(level, limits.highestLevel) }

    /// The highest priority of which nobody new is mixed; `nil` while everybody is.
    public func heldPriority(among programs: [Program]) -> Int? {
        programs.filter { levels[$0.task] ?? 0 >= Degradation.highest }.map(\.priority).max()
    }

    /// Takes a sample, about once a second.
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

    /// What is too much, in words; `nil` when nothing is.
    private func overload(_ sample: Sample, _ programs: [Program]) -> String? {
        if sample.lateFrames > limits.lateFrames {
            return "\(percent(sample.lateFrames)) of the mixed frames are late"
        }
        let isPressed = sample.pressure.map { $0 >= limits.pressure && sample.utilisation >= limits.pressed } ?? false
        guard sample.utilisation >= limits.overloaded || isPressed else { return nil }
        // Making programs cheaper does not help a machine that is busy with something else.
        let ours = programs.filter(\.isMixing).reduce(0) { $0 + $1.cost(levels[$1.task] ?? 0) }
        guard ours >= limits.blame else { return nil }
        let busy = "the machine is \(percent(sample.utilisation)) busy"
        guard sample.utilisation < limits.overloaded, let pressure = sample.pressure else { return busy }
        return "\(busy) and work waits \(percent(pressure)) of the time"
    }

    private mutating func stepUp(_ programs: [Program], reason: String, now: Int64) -> Step? {
        let mixing = programs.filter(\.isMixing)
        // Frames of everybody first; then nobody new is mixed.
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
            // What this step does has to show before the next.
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
        return step(first.task, by: -1, "the machine is \(percent(sample.utilisation)) busy again")
    }

    private mutating func step(_ task: TaskID, by amount: Int, _ reason: String) -> Step {
        let from = levels[task] ?? 0
        levels[task] = from + amount
        return Step(task: task, from: from, to: from + amount, reason: reason)
    }

    private func percent(_ share: Double) -> String { "\(Int(saturating: (share * 100).rounded())) %" }
}
