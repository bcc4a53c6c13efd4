import EncodedMedia
import MixModel

/// The accounts of `MachineLoad`: the cost of each task, the tasks that wait for capacity, and the machine's capacity.
/// Pure.
struct LoadAccounting: Sendable {
    /// A task that needs a relay.
    struct Entry: Sendable {
        var room: RoomID
        var priority: Int
        /// Workload of the current plan, with every frame rendered.
        var workload: Workload
        var isMixing: Bool
        @Boxed var plan: ProgramPlan?
        var pictures: [SourceID: Workload.Pictures] = [:]
        var meter = CostMeter()
        /// Cores that its relay and mixer used recently.
        var used = 0.0
        var last: (load: RelayLoad, at: MediaTime)?
        /// Frames since the last sample.
        var frames = 0
        var lateFrames = 0
        /// Cores that the program would use at full quality.
        var booked = 0.0
    }

    /// A refused task that waits for capacity.
    struct Waiting: Sendable {
        var room: RoomID
        var priority: Int
        var refusal: AdmissionRefusal
        /// Position in the order of arrival.
        var number: Int

        var place: WaitingLine.Place { WaitingLine.Place(priority: priority, number: number) }
    }

    var settings: LoadSettings
    var costs = CostModel()
    var controller: OverloadController
    private(set) var entries: [TaskID: Entry] = [:]
    private(set) var waiting: [TaskID: Waiting] = [:]
    /// The waiting tasks in order. Kept up to date rather than sorted, because events must not wait for it.
    private var line = WaitingLine()
    private var arrivals = 0
    /// Cores of the machine; `nil` until they have been read.
    private(set) var cores: Double?
    /// Cores that other processes used recently.
    private(set) var others = 0.0
    private(set) var utilisation = 0.0
    private(set) var held: Int?
    /// Newest reason for each task's level.
    private var reasons: [TaskID: String] = [:]
    private(set) var refusals = 0
    private var lastReading: (reading: MachineReading, at: Int64)?

    init(settings: LoadSettings) {
        self.settings = settings
        var limits = OverloadController.Limits()
        limits.highestLevel = settings.highestLevel
        controller = OverloadController(limits: limits)
    }

    // MARK: Questions

    /// Cores booked by programs, each at full quality. Kept up to date rather than summed, because events must not wait
    /// for it.
    private(set) var committed = 0.0

    /// Cores that programs may book in total; `nil` = no limit.
    var capacity: Double? {
        if settings.cores == 0 { return nil }
        return (settings.cores ?? cores).map { $0 * settings.utilisation }
    }

    /// Free cores; `nil` = no limit. Other processes count only against the machine's own cores: an operator who sets
    /// the number of cores has taken them into account.
    var free: Double? {
        // The reserved cores are used by other processes.
        capacity.map { $0 - (settings.cores == nil ? max(others, reserved) : reserved) - committed }
    }

    /// Cores reserved for work that is not a task.
    var reserved = 0.0

    /// Returns the capacity for a task of this priority; `nil` = unlimited. Tasks that have waited longer, and tasks of
    /// higher priority, are served first, even if a smaller task would fit.
    func admission(for task: TaskID, priority: Int) -> Admission? {
        // An idle machine accepts any task: an estimate alone must not refuse the only program.
        guard !entries.isEmpty, var free else { return nil }
        let own = WaitingLine.Place(priority: priority, number: waiting[task]?.number ?? .max)
        for (place, other) in line.tasks where other != task {
            // Below zero, every task is refused, regardless of the tasks ahead.
            guard free >= 0, place < own, let ahead = waiting[other] else { break }
            let fits = ahead.refusal.neededCores <= free
            free -= fits ? ahead.refusal.bookedCores : ahead.refusal.neededCores
        }
        return Admission(availableCores: free, costs: costs)
    }

    func order(for task: TaskID, priority: Int) -> LoadOrder {
        var order = LoadOrder()
        if let level = controller.levels[task], level > 0 {
            order.degradation = Degradation(level: level, reason: reasons[task] ?? "the machine was overloaded")
        }
        if let held, priority <= held { order.holdsBypass = "the machine is overloaded" }
        return order
    }

    /// Number of degraded tasks by level. Tasks at full quality are left out.
    var degraded: [Int: Int] {
        controller.levels.values.reduce(into: [:]) { if $1 > 0 { $0[$1, default: 0] += 1 } }
    }

    private func demand(_ entry: Entry) -> Double { costs.cores(entry.workload) * correction(entry) }

    /// Returns the factor by which a program costs more or less than others of its size, 0.5…2. It depends on the
    /// content of the pictures.
    private func correction(_ entry: Entry) -> Double {
        guard let measured = entry.meter.newest else { return 1 }
        return min(2, max(0.5, measured.cores / max(costs.cores(measured.workload), 0.001)))
    }

    // MARK: Changes

    mutating func noteRefusal() { refusals += 1 }

    /// Books the result of a decision about a task.
    mutating func forget(_ task: TaskID) {
        wait(task, nil)
        committed -= entries.removeValue(forKey: task)?.booked ?? 0
        if entries.isEmpty { committed = 0 }
    }

    mutating func settle(_ machine: TaskMachine, priority: Int) {
        let task = machine.id
        if let refusal = machine.refusal, machine.awaitsCapacity {
            if waiting[task] == nil {
                arrivals += 1
                refusals += 1
            }
            wait(
                task,
                Waiting(
                    room: machine.room, priority: priority, refusal: refusal,
                    number: waiting[task]?.number ?? arrivals))
        } else {
            wait(task, nil)
        }
        guard machine.isActive, let plan = machine.plan ?? entries[task]?.plan else {
            committed -= entries.removeValue(forKey: task)?.booked ?? 0
            if entries.isEmpty { committed = 0 }
            return
        }
        var entry =
            entries[task]
            ?? Entry(room: machine.room, priority: priority, workload: Workload(copies: 0), isMixing: false)
        if entries[task] == nil, let level = plan.degradation?.level { controller.restore(task, level: level) }
        entry.priority = priority
        guard entry.plan?.revision != plan.revision else {
            entries[task] = entry
            return
        }
        entry.plan = plan
        Self.measure(&entry)
        book(entry, of: task)
    }

    private mutating func wait(_ task: TaskID, _ new: Waiting?) {
        let old = waiting[task]
        waiting[task] = new
        guard old?.place != new?.place else { return }
        if let old { line.leave(old.place) }
        if let new { line.enter(task, at: new.place) }
    }

    private mutating func book(_ entry: Entry, of task: TaskID) {
        var entry = entry
        committed -= entry.booked
        entry.booked = demand(entry)
        committed += entry.booked
        entries[task] = entry
    }

    private static func measure(_ entry: inout Entry) {
        guard let plan = entry.plan else { return }
        entry.workload = Workload(
            mode: plan.mode, scene: plan.scene, sources: plan.sources, outputs: plan.outputs.connections,
            pictures: entry.pictures, hasVideo: plan.tracks != .audio, encoding: plan.encoding,
            redundancy: plan.redundancy)
        entry.isMixing = entry.workload.mix != nil
    }

    /// Processes a relay's status, which arrives about once a second.
    mutating func take(_ status: RelayStatus, of task: TaskID) {
        guard var entry = entries[task] else { return }
        let pictures = status.sources.reduce(into: [SourceID: Workload.Pictures]()) { known, source in
            guard let size = source.pictureSize else { return }
            // Rounded, because an estimate that varies with every frame must not count as another program.
            known[source.id] = Workload.Pictures(
                width: size.width, height: size.height, rate: (source.frameRate ?? 25).rounded())
        }
        if pictures != entry.pictures {
            entry.pictures = pictures
            Self.measure(&entry)
        }
        if let load = status.load {
            note(load, at: status.programTime, in: &entry)
            // The plan in force must be the plan that the relay runs.
            if status.revision == entry.plan?.revision,
                let measurement = entry.meter.take(load, workload: entry.workload, at: status.programTime)
            {
                costs.learn(measurement)
            }
        }
        book(entry, of: task)
    }

    private func note(_ load: RelayLoad, at time: MediaTime, in entry: inout Entry) {
        defer { entry.last = (load, time) }
        guard let last = entry.last, time > last.at else { return }
        let seconds = (time - last.at).inSeconds
        var used = load.relaySeconds - last.load.relaySeconds
        if let mixer = load.mixer {
            let before = last.load.mixer(mixer.processID)
            used += mixer.cpuSeconds - (before?.cpuSeconds ?? 0)
            let pace = before?.pace ?? FramePace()
            let lost = mixer.pace.missing - pace.missing
            entry.frames += max(0, mixer.pace.made - pace.made + lost)
            entry.lateFrames += max(0, mixer.pace.late - pace.late + lost)
        }
        if let twin = load.twin {
            let before = last.load.mixer(twin.processID)
            used += twin.cpuSeconds - (before?.cpuSeconds ?? 0)
        }
        // Weighted by time, because reports can arrive in quick succession.
        let share = min(1, seconds)
        entry.used += (max(0, used) / seconds - entry.used) * share
    }

    // MARK: Once a second

    struct Outcome: Sendable {
        var step: OverloadController.Step?
        /// Rooms whose tasks must be replanned, with the reason.
        var changed: [(room: RoomID, reason: String)] = []
        /// Rooms whose tasks may start now.
        var admitted: [RoomID] = []
    }

    /// Maximum number of tasks admitted at once, because each is planned and started.
    static let mostAdmitted = 8

    /// Processes a reading of the machine, changes levels, and admits waiting tasks.
    ///
    /// - Parameter now: Time in ns of CLOCK_MONOTONIC.
    mutating func tick(_ reading: MachineReading?, now: Int64) -> Outcome {
        var outcome = Outcome()
        // Costs learnt from one task apply to all. A fresh sum also keeps rounding errors from accumulating.
        let booked = entries.mapValues { demand($0) }
        for (task, cores) in booked { entries[task]?.booked = cores }
        committed = entries.values.reduce(0) { $0 + $1.booked }
        if let sample = sample(reading, now: now) {
            let programs = self.programs
            if let step = controller.take(sample, programs: programs), let room = entries[step.task]?.room {
                reasons[step.task] = step.reason
                outcome.step = step
                outcome.changed.append((room, step.reason))
            }
            reasons = reasons.filter { controller.levels[$0.key] ?? 0 > 0 || $0.key == outcome.step?.task }
            let before = held
            held = controller.heldPriority(among: programs)
            if held != before { outcome.changed += heldRooms(before) }
        }
        outcome.admitted = admitted()
        return outcome
    }

    /// Returns the rooms whose bypass is no longer held, because a mix may be due. Newly held rooms are left alone.
    private func heldRooms(_ before: Int?) -> [(room: RoomID, reason: String)] {
        guard let before else { return [] }
        return entries.values.filter { !$0.isMixing && $0.priority <= before && $0.priority > held ?? -1 }
            .map { ($0.room, "the machine is less loaded again") }
    }

    private func admitted() -> [RoomID] {
        guard !waiting.isEmpty else { return [] }
        let first = line.tasks.prefix(Self.mostAdmitted).compactMap { waiting[$0.task] }
        guard var free else { return first.map(\.room) }
        // With nothing on air, the first task is tried.
        if entries.isEmpty { return first.prefix(1).map(\.room) }
        var rooms: [RoomID] = []
        for task in first {
            guard task.refusal.neededCores <= free else { break }
            free -= task.refusal.bookedCores
            rooms.append(task.room)
        }
        return rooms
    }

    private mutating func sample(_ reading: MachineReading?, now: Int64) -> OverloadController.Sample? {
        guard let reading else { return nil }
        defer { lastReading = (reading, now) }
        cores = reading.cores
        guard let last = lastReading, now > last.at, last.reading.cores == reading.cores else { return nil }
        let seconds = Double(now - last.at) / 1e9
        let busy = max(0, reading.busySeconds - last.reading.busySeconds) / seconds
        utilisation = min(1, busy / max(reading.cores, 0.01))
        let ours = entries.values.reduce(0) { $0 + $1.used }
        // The load of others is averaged over the last ten seconds.
        others += (max(0, busy - ours) - others) * min(1, seconds / 10)
        var pressure: Double?
        if let waited = reading.waitedSeconds, let before = last.reading.waitedSeconds {
            pressure = min(1, max(0, waited - before) / seconds)
        }
        var frames = 0
        var late = 0
        for task in Array(entries.keys) {
            frames += entries[task]?.frames ?? 0
            late += entries[task]?.lateFrames ?? 0
            entries[task]?.frames = 0
            entries[task]?.lateFrames = 0
        }
        return OverloadController.Sample(
            time: now, utilisation: utilisation, pressure: pressure,
            lateFrames: frames >= 10 ? Double(late) / Double(frames) : 0)
    }

    private var programs: [OverloadController.Program] {
        let cores = max(cores ?? 1, 0.01)
        return entries.map { task, entry in
            let correction = correction(entry)
            let (workload, costs) = (entry.workload, costs)
            return OverloadController.Program(task: task, priority: entry.priority, isMixing: entry.isMixing) { level in
                let divided = workload.divided(by: Degradation.frameDivisor(ofLevel: level))
                return costs.cores(divided) * correction / cores
            }
        }
    }
}
