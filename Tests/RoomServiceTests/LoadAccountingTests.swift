import LayoutEngine
import MixModel
import TestSupport
import Testing

@testable import RoomService

/// Admission, its order, and the use of load samples.
@Suite struct LoadAccountingTests {
    private static let scene = Scene(
        canvas: .portrait,
        panes: ["a", "b"].enumerated().map {
            Pane(source: "\($0.element)/camera", user: $0.element, x: 0, y: $0.offset * 640, width: 720, height: 640)
        })

    /// Rooms with tasks, decided as in the service, on a machine that the test controls.
    private struct Bench {
        var accounting: LoadAccounting
        var rooms: [String: (room: Room, task: TaskMachine)] = [:]
        var now: Int64 = 1_000_000_000
        var events = 0

        init(cores: Double? = 2, highestLevel: Int = Degradation.highest) {
            accounting = LoadAccounting(settings: LoadSettings(cores: cores, highestLevel: highestLevel))
        }

        mutating func publish(
            _ name: String, _ user: UserID = "a", priority: Int = 5, redundancy: MixRedundancy? = nil
        ) {
            var (room, task) =
                rooms[name] ?? (Room(id: RoomID(name)), TaskMachine(id: TaskID("auto-\(name)"), room: RoomID(name)))
            room.settings.policy.priority = priority
            room.settings.policy.redundancy = redundancy
            events += 1
            _ = RoomMachine.apply(
                RoomEvent(
                    room: RoomID(name), source: "t", id: "\(events)",
                    kind: .streamPublished(
                        Publication(user: user, stream: .camera, url: "rtmp://127.0.0.1/\(user)"))), to: &room)
            rooms[name] = (room, task)
            decide(name)
            _ = task
        }

        mutating func decide(_ name: String) {
            guard var (room, task) = rooms[name] else { return }
            var context = PlanningContext(
                template: LayoutTemplate(
                    name: "t", arrangements: [Arrangement(placement: .algorithm(.grid(tileAspect: nil)))]),
                defaultOutputs: [PushDestination(id: "main", url: "rtmp://127.0.0.1/out")],
                defaultCanvas: RoomCanvas(.portrait))
            let priority = room.settings.policy.priority
            context.load = accounting.order(for: task.id, priority: priority)
            context.admission = task.isActive ? nil : accounting.admission(for: task.id, priority: priority)
            now += 1_000_000_000
            _ = task.roomChanged(
                room, context: context, cause: Cause(receivedAt: now, summary: "t"), urgency: .immediate, now: now)
            accounting.settle(task, priority: priority)
            rooms[name] = (room, task)
            room = Room(id: room.id)
        }

        mutating func end(_ name: String) {
            guard var (room, task) = rooms[name] else { return }
            _ = task.stopRequested(cause: Cause(receivedAt: now, summary: "t"))
            _ = task.relayDrained()
            accounting.settle(task, priority: room.settings.policy.priority)
            rooms[name] = (room, task)
            room = Room(id: room.id)
        }

        /// Passes one second with this many busy cores, and lets the rooms decide on the outcome.
        @discardableResult mutating func tick(busy: Double, cores: Double = 2) -> LoadAccounting.Outcome {
            seconds += busy
            now += 1_000_000_000
            let outcome = accounting.tick(MachineReading(cores: cores, busySeconds: seconds), now: now)
            for (room, _) in outcome.changed { decide(room.rawValue) }
            for room in outcome.admitted { decide(room.rawValue) }
            return outcome
        }
        var seconds = 0.0

        var running: [String] { rooms.filter { $0.value.task.isActive }.keys.sorted() }
    }

    @Test func theFirstTaskIsTriedWhateverItCosts() {
        var bench = Bench(cores: 0.01)
        bench.publish("r1")
        #expect(bench.running == ["r1"])
        bench.publish("r2")
        #expect(bench.running == ["r1"])
        #expect(bench.accounting.refusals == 1 && bench.accounting.waiting.count == 1)
    }

    @Test func zeroCoresMeanNoLimit() {
        var bench = Bench(cores: 0)
        for index in 0..<50 {
            bench.publish("r\(index)")
            bench.publish("r\(index)", "b")
        }
        #expect(bench.running.count == 50)
        #expect(bench.accounting.free == nil && bench.accounting.committed > 5)
    }

    @Test func mixesAreBookedAndBypassesHardly() {
        var bench = Bench(cores: 4)
        bench.publish("r1")
        let bypass = bench.accounting.committed
        bench.publish("r1", "b")
        let mix = bench.accounting.committed
        #expect(bypass < 0.03 && mix > bypass * 5)
        bench.end("r1")
        #expect(bench.accounting.committed == 0)
    }

    /// A twin costs as much as the mixer. A room that asks for one is admitted only if both fit.
    @Test func aTwinIsBookedAsASecondMixer() {
        var (single, double) = (Bench(cores: 4), Bench(cores: 4))
        for user in ["a", "b"] {
            single.publish("r1", UserID(user))
            double.publish("r1", UserID(user), redundancy: .twin)
        }
        let (one, two) = (single.accounting.committed, double.accounting.committed)
        #expect(two > 1.8 * one && two < 2.1 * one, "\(one) and \(two)")
        /// Number of mixes until one is refused.
        func mixes(_ redundancy: MixRedundancy?) -> Int {
            var bench = Bench(cores: 4)
            for index in 0..<100 {
                bench.publish("r\(index)", redundancy: redundancy)
                guard bench.accounting.refusals == 0 else { return index }
                bench.publish("r\(index)", "b", redundancy: redundancy)
            }
            return 100
        }
        #expect(mixes(.twin) * 2 <= mixes(nil) + 1 && mixes(.twin) > 1, "\(mixes(.twin)) and \(mixes(nil))")
    }

    @Test func higherPrioritiesAreServedFirstAndThenTheLongestWaiting() {
        var bench = Bench(cores: 0.01)
        bench.publish("first")
        for (room, priority) in [("c", 5), ("d", 5), ("low", 1), ("high", 9)] {
            bench.publish(room, priority: priority)
        }
        #expect(bench.running == ["first"])
        var order: [String] = []
        for _ in 0..<5 {
            for name in bench.running {
                order.append(name)
                bench.end(name)
            }
            bench.tick(busy: 0)
        }
        #expect(order == ["first", "high", "c", "d", "low"])
    }

    /// A small task does not overtake a large one that has waited longer.
    @Test func whoComesLaterDoesNotOvertake() throws {
        var bench = Bench(cores: 2.5)
        bench.publish("r1")
        var machine = TaskMachine(id: "auto-big", room: "big")
        // Refused while other rooms had booked all cores.
        var context = PlanningContext(
            template: LayoutTemplate(
                name: "t", arrangements: [Arrangement(placement: .algorithm(.grid(tileAspect: nil)))]),
            defaultOutputs: [PushDestination(id: "main", url: "rtmp://127.0.0.1/out")],
            defaultCanvas: RoomCanvas(Canvas(width: 3840, height: 2160, fps: 60)))
        context.admission = Admission(availableCores: 0, costs: CostModel())
        var room = Room(id: "big")
        _ = RoomMachine.apply(
            RoomEvent(
                room: "big", source: "t", id: "1",
                kind: .streamPublished(Publication(user: "a", stream: .camera, url: "rtmp://127.0.0.1/a"))), to: &room)
        _ = machine.roomChanged(
            room, context: context, cause: Cause(receivedAt: 1, summary: "t"), urgency: .immediate, now: 1)
        #expect(machine.awaitsCapacity)
        bench.accounting.settle(machine, priority: 5)
        bench.publish("later")
        #expect(bench.running == ["r1"])
        bench.publish("urgent", priority: 6)
        #expect(bench.running == ["r1", "urgent"])
    }

    @Test func whatOthersUseIsNotThereUnlessTheOperatorSaysSo() throws {
        for cores in [nil, 2.0] as [Double?] {
            var bench = Bench(cores: cores)
            bench.publish("r1")
            for _ in 0..<100 { bench.tick(busy: 1.7) }
            let free = try #require(bench.accounting.free)
            #expect(cores == nil ? free < 0 : free > 1.4, "\(free)")
        }
    }

    @Test func overloadBecomesPlansAndCalmTakesThemBack() throws {
        var bench = Bench(cores: 8)
        for name in ["r1", "r2"] {
            bench.publish(name, priority: name == "r1" ? 2 : 8)
            bench.publish(name, "b", priority: name == "r1" ? 2 : 8)
        }
        bench.tick(busy: 0)
        for _ in 0..<5 { bench.tick(busy: 2) }
        #expect(bench.rooms["r1"]?.task.plan?.degradation?.level == 1)
        #expect(bench.rooms["r1"]?.task.plan?.degradation?.reason == "the machine is 100 % busy")
        #expect(bench.rooms["r2"]?.task.plan?.degradation == nil)
        #expect(bench.accounting.degraded == [1: 1])
        for _ in 0..<60 { bench.tick(busy: 2) }
        #expect(bench.accounting.degraded == [4: 2])
        // New participants are not mixed in while rooms are degraded. They are as soon as there is room.
        bench.publish("r3")
        bench.publish("r3", "b")
        #expect(bench.rooms["r3"]?.task.plan?.mode == .bypass("a/camera"))
        for _ in 0..<400 { bench.tick(busy: 0.1) }
        #expect(bench.accounting.degraded.isEmpty)
        #expect(bench.rooms["r3"]?.task.plan?.mode == .mix(host: "a/camera"))
        #expect(bench.rooms.values.allSatisfy { $0.task.plan?.degradation == nil })
        #expect(bench.running.count == 3)
    }

    @Test func aRunningMixTeachesTheModel() throws {
        var bench = Bench(cores: 8)
        bench.publish("r1")
        bench.publish("r1", "b")
        let guess = bench.accounting.committed
        let plan = try #require(bench.rooms["r1"]?.task.plan)
        for second in 0..<120 {
            let load = RelayLoad(
                relaySeconds: Double(second) * 0.01,
                mixer: MixerLoad(
                    processID: 9, cpuSeconds: Double(second) * guess * 1.5, frameDivisor: 1,
                    pace: FramePace(made: second * 20)))
            let status = RelayStatus(
                task: plan.task, processID: 8, revision: plan.revision, onAir: .mix, bypassSource: nil, scene: nil,
                sources: [], outputs: [], programTime: .seconds(Double(second)), load: load)
            bench.accounting.take(status, of: plan.task)
        }
        let booked = bench.accounting.committed
        #expect(abs(booked - (guess * 1.5 + 0.01)) < guess * 0.05, "\(guess) → \(booked)")
        // Estimates for other rooms improve too.
        let costs = bench.accounting.costs.cores(Workload.mixOfTwo(on: .portrait))
        #expect(costs > CostModel().cores(Workload.mixOfTwo(on: .portrait)) * 1.15)
    }

    /// Each task's place in the queue and the cores left for it equal those found by sorting all tasks.
    @Test func whatIsFreeIsWhatThoseAheadLeave() throws {
        var random = SeededGenerator(announcedFor: "waiting tasks")
        var accounting = LoadAccounting(settings: LoadSettings(cores: 8, highestLevel: 0))
        Self.carry("running", in: &accounting)
        for _ in 0..<400 {
            let name = "w\(Int.random(in: 0..<60, using: &random))"
            let priority = Int.random(in: 0...9, using: &random)
            if Bool.random(using: &random) {
                let width = Int.random(in: 8...240, using: &random) * 16
                let canvas = Canvas(width: width, height: 720, fps: .random(in: 5...60, using: &random))
                Self.refuse(name, priority: priority, on: canvas, in: &accounting)
            } else {
                accounting.settle(TaskMachine(id: TaskID(name), room: RoomID(name)), priority: priority)
            }
            let asked = TaskID("w\(Int.random(in: 0..<60, using: &random))")
            let own = (-priority, accounting.waiting[asked]?.number ?? .max)
            var free = try #require(accounting.free)
            let sorted = accounting.waiting.filter { $0.key != asked && (-$0.value.priority, $0.value.number) < own }
                .values
                .sorted { (-$0.priority, $0.number) < (-$1.priority, $1.number) }
            for ahead in sorted {
                free -= ahead.refusal.neededCores <= free ? ahead.refusal.bookedCores : ahead.refusal.neededCores
            }
            let found = try #require(accounting.admission(for: asked, priority: priority)).availableCores
            #expect(found == free || found < 0 && free < 0)
        }
    }

    /// Sorting ten thousand tasks for each decision would take minutes.
    @Test(.timeLimit(.minutes(5))) func aDecisionCostsTheSameHoweverManyWait() {
        var accounting = LoadAccounting(settings: LoadSettings(cores: 0.01, highestLevel: 0))
        Self.carry("running", in: &accounting)
        for number in 0..<10_000 { Self.refuse("w\(number)", priority: 5, in: &accounting) }
        let start = ContinuousClock.now
        for number in 0..<1000 {
            let task = TaskID("w\(number * 7 % 10_000)")
            #expect(accounting.admission(for: task, priority: 5)?.availableCores ?? 1 < 0)
            Self.refuse(task.rawValue, priority: 5, in: &accounting)
        }
        let spent = ContinuousClock.now - start
        print("1000 decisions with 10 000 tasks waiting: \(spent)")
        #expect(spent < .seconds(30))
    }

    private static func carry(_ name: String, in accounting: inout LoadAccounting) {
        var bench = Bench(cores: 0.01)
        bench.publish(name)
        if let task = bench.rooms[name]?.task { accounting.settle(task, priority: 5) }
    }

    /// Adds a task that needs a mix of two on this canvas and is refused.
    private static func refuse(
        _ name: String, priority: Int, on canvas: Canvas = .portrait, in accounting: inout LoadAccounting
    ) {
        let id = RoomID(name)
        var machine = TaskMachine(id: TaskID(name), room: id)
        var context = PlanningContext(
            template: LayoutTemplate(
                name: "t", arrangements: [Arrangement(placement: .algorithm(.grid(tileAspect: nil)))]),
            defaultOutputs: [PushDestination(id: "main", url: "rtmp://127.0.0.1/out")],
            defaultCanvas: RoomCanvas(canvas))
        context.admission = Admission(availableCores: 0, costs: CostModel())
        var room = Room(id: id)
        let publication = Publication(user: "a", stream: .camera, url: "rtmp://127.0.0.1/a")
        _ = RoomMachine.apply(
            RoomEvent(room: id, source: "t", id: "1", kind: .streamPublished(publication)), to: &room)
        _ = machine.roomChanged(
            room, context: context, cause: Cause(receivedAt: 1, summary: "t"), urgency: .immediate, now: 1)
        accounting.settle(machine, priority: priority)
    }
}
