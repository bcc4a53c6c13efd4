import MixModel
import TestSupport
import Testing

@Suite struct OverloadControllerTests {
    typealias Program = OverloadController.Program
    typealias Sample = OverloadController.Sample

    /// Returns a program. Four fifths of its cost shrink with the frame rate of its level; one fifth is constant.
    private static func program(_ task: TaskID, priority: Int = 5, cost: Double, isMixing: Bool = true) -> Program {
        Program(
            task: task, priority: priority, isMixing: isMixing,
            cost: { cost * (0.2 + 0.8 / Double(Degradation.frameDivisor(ofLevel: $0))) })
    }

    /// A machine that carries programs and returns samples of their cost at their levels.
    fileprivate struct Machine {
        var controller: OverloadController
        var programs: [Program]
        /// Share of the machine that other processes use.
        var others = 0.0
        /// Ratio of the programs' real cost to the estimated cost.
        var truth = 1.0
        var second: Int64 = 0
        var steps: [(second: Int64, step: OverloadController.Step)] = []

        var demand: Double {
            programs.reduce(others) { sum, program in
                let level = controller.levels[program.task] ?? 0
                return sum + (program.isMixing ? program.cost(level) * truth : 0)
            }
        }

        mutating func run(seconds: Int64) {
            for _ in 0..<seconds {
                second += 1
                let sample = Sample(
                    time: second * 1_000_000_000, utilisation: min(1, demand),
                    lateFrames: demand > 1.05 ? min(1, (demand - 1) * 2) : 0)
                if let step = controller.take(sample, programs: programs) { steps.append((second, step)) }
            }
        }
    }

    @Test func threeSecondsOfOverloadAreOneStep() throws {
        var machine = Machine(
            controller: OverloadController(),
            programs: [Self.program("a", cost: 0.4), Self.program("b", cost: 0.7)])
        machine.run(seconds: 3)
        #expect(machine.steps.isEmpty)
        machine.run(seconds: 1)
        let (_, step) = try #require(machine.steps.first)
        // The costliest program is degraded, with a reason.
        #expect(step.task == "b" && step.from == 0 && step.to == 1)
        #expect(step.reason == "20 % of the mixed frames are late")
        machine.run(seconds: 60)
        #expect(machine.steps.count == 1, "0.4 + 0.42 is less than too much and more than calm")
    }

    @Test func aMomentIsNoOverload() {
        var controller = OverloadController()
        let programs = [Self.program("a", cost: 0.5)]
        for second in 0..<600 {
            let sample = Sample(time: Int64(second) * 1_000_000_000, utilisation: second % 3 == 2 ? 0.5 : 1)
            #expect(controller.take(sample, programs: programs) == nil)
        }
    }

    @Test func lowPrioritiesGiveWayFirstAndComeBackLast() {
        var machine = Machine(
            controller: OverloadController(),
            programs: [
                Self.program("low", priority: 1, cost: 0.2), Self.program("mid", priority: 5, cost: 0.9),
                Self.program("high", priority: 9, cost: 0.9),
            ])
        machine.run(seconds: 120)
        let up = machine.steps.map { "\($0.step.task)\($0.step.to)" }
        #expect(Array(up.prefix(4)) == ["low1", "low2", "low3", "mid1"], "\(up)")
        #expect(machine.demand < 0.92)
        #expect(machine.controller.levels["high"] ?? 0 <= machine.controller.levels["mid"] ?? 0)
        machine.steps = []
        // When the load falls, all programs recover, the most important first.
        machine.programs = machine.programs.map { Self.program($0.task, priority: $0.priority, cost: 0.1) }
        machine.run(seconds: 600)
        let down = machine.steps.map(\.step)
        #expect(machine.controller.levels.values.allSatisfy { $0 == 0 })
        #expect(down.last?.task == "low" && down.last?.to == 0)
        let highs = down.lastIndex { $0.task == "high" } ?? -1
        let mids = down.firstIndex { $0.task == "mid" } ?? .max
        #expect(highs < mids)
    }

    @Test func theLastStepHoldsNewMixesBack() {
        var machine = Machine(
            controller: OverloadController(),
            programs: [Self.program("low", priority: 2, cost: 2), Self.program("high", priority: 7, cost: 2)])
        machine.run(seconds: 17)
        #expect(machine.controller.heldPriority(among: machine.programs) == nil)
        machine.run(seconds: 200)
        #expect(machine.controller.levels == ["low": 4, "high": 4])
        #expect(machine.controller.heldPriority(among: machine.programs) == 7)
        // The last steps degrade the low priority before the high one.
        #expect(machine.steps.suffix(2).map { "\($0.step.task)\($0.step.to)" } == ["low4", "high4"])
    }

    @Test func aMachineThatIsBusyWithSomethingElseIsLeftAlone() {
        var controller = OverloadController()
        let programs = [Self.program("a", cost: 0.05), Self.program("b", cost: 0.9, isMixing: false)]
        for second in 0..<60 {
            #expect(
                controller.take(Sample(time: Int64(second) * 1_000_000_000, utilisation: 1), programs: programs) == nil)
        }
        // A busy machine counts only if mixers suffer.
        var late = false
        for second in 60..<70 {
            let sample = Sample(time: Int64(second) * 1_000_000_000, utilisation: 1, lateFrames: 0.3)
            late = controller.take(sample, programs: programs) != nil || late
        }
        #expect(late)
    }

    @Test func pressureCountsBeforeTheMachineIsFull() throws {
        var controller = OverloadController()
        let programs = [Self.program("a", cost: 0.5)]
        var step: OverloadController.Step?
        for second in 0..<10 {
            let sample = Sample(time: Int64(second) * 1_000_000_000, utilisation: 0.88, pressure: 0.7)
            step = controller.take(sample, programs: programs) ?? step
        }
        #expect(try #require(step).reason == "the machine is 88 % busy and work waits for a core 70 % of the time")
    }

    @Test func zeroLevelsMeanNever() {
        var limits = OverloadController.Limits()
        limits.highestLevel = 0
        var machine = Machine(
            controller: OverloadController(limits: limits), programs: [Self.program("a", cost: 3)])
        machine.run(seconds: 100)
        #expect(machine.steps.isEmpty)
        limits.highestLevel = 2
        machine = Machine(controller: OverloadController(limits: limits), programs: [Self.program("a", cost: 3)])
        machine.run(seconds: 100)
        #expect(machine.controller.levels == ["a": 2])
    }

    /// A program that ends takes its level along, and no program keeps a level for ever.
    @Test func programsComeAndGo() {
        var machine = Machine(controller: OverloadController(), programs: [Self.program("a", cost: 1.5)])
        machine.run(seconds: 10)
        #expect(machine.controller.levels["a"] ?? 0 > 0)
        machine.programs = [Self.program("b", cost: 0.1)]
        machine.run(seconds: 1)
        #expect(machine.controller.levels.isEmpty)
    }

    /// On random machines whose costs differ from the estimates, levels settle in the order of priorities, and fall
    /// again with the load.
    @Test func levelsSettleAndNeverSwing() {
        var random = SeededGenerator(announcedFor: "overload")
        let seed = random.seed
        for run in 0..<TestLength.of(short: 12, long: 60) {
            let name = "seed \(seed), run \(run)"
            var machine = Machine(
                controller: OverloadController(),
                programs: (0..<Int.random(in: 1...12, using: &random)).map {
                    Self.program(
                        TaskID("t\($0)"), priority: .random(in: 0...9, using: &random),
                        cost: .random(in: 0.02...0.5, using: &random), isMixing: .random(in: 0..<8, using: &random) > 0)
                })
            machine.truth = .random(in: 0.7...1.4, using: &random)
            machine.others = .random(in: 0...0.5, using: &random)
            machine.run(seconds: 3600)
            Self.checkPace(machine, name)
            // After the first minutes, a step up follows a step down ever more rarely, since each relapse doubles the
            // wait before a step down, from 20 s to at most 320 s.
            let late = machine.steps.filter { $0.second > 1800 }
            #expect(late.count <= 12, "\(name): \(late.count) steps in the second half hour")
            let isBeyondHelp = machine.programs.allSatisfy {
                !$0.isMixing || machine.controller.levels[$0.task] ?? 0 >= 3
            }
            #expect(machine.demand < 0.93 || isBeyondHelp || machine.demand < 1.05 && !machine.isBlamed, "\(name)")
            machine.others = 0
            machine.programs = machine.programs.map { Self.program($0.task, priority: $0.priority, cost: 0.01) }
            machine.steps = []
            machine.run(seconds: 6000)
            #expect(machine.controller.levels.isEmpty, "\(name)")
            #expect(machine.steps.allSatisfy { $0.step.to < $0.step.from }, "\(name)")
        }
    }

    private static func checkPace(_ machine: Machine, _ name: String) {
        for (before, after) in zip(machine.steps, machine.steps.dropFirst()) {
            #expect(after.second - before.second >= 3, "\(name): one step at a time")
        }
        for (_, step) in machine.steps { #expect(abs(step.to - step.from) == 1, "\(name)") }
    }
}

extension OverloadControllerTests.Machine {
    fileprivate var isBlamed: Bool {
        programs.filter(\.isMixing).reduce(0) { $0 + $1.cost(controller.levels[$1.task] ?? 0) } >= 0.1
    }
}
