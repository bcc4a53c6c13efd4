import MixModel
import TaskStore
import Testing

@testable import RoomService

/// Decisions about a room, without store, relay or clock.
@Suite struct RoomStateTests {
    // MARK: Events

    @Test func aStreamLaunchesARelay() {
        var bench = RoomBench()
        let event = bench.event(RoomBench.published("alice"))
        let (draft, outcome) = bench.state.applying(event, bench.cause(), bench.facts)
        #expect(outcome == .changed)
        #expect(draft.event == event)
        #expect(draft.actions().contains(.launchRelay))
        #expect(draft.tasks[0].machine.plan?.causes == ["c1"])
        // Nothing happens before the draft is stored.
        #expect(bench.state.room.document.participants.isEmpty)
        #expect(bench.phase() == .waiting(after: nil))
        let commit = bench.store(draft)
        #expect(commit.change.tasks.map(\.id) == [RoomBench.automatic])
        #expect(bench.state.room.version == 1)
        #expect(bench.phase() == .starting)
    }

    @Test func withoutADestinationOnlyTheRoomChanges() {
        var bench = RoomBench()
        bench.facts.outputs = []
        let commit = bench.apply(RoomBench.published("alice"))
        #expect(commit.draft.actions().isEmpty)
        #expect(commit.change.tasks.isEmpty)
        #expect(bench.state.room.document.streams.map(\.id) == ["alice/camera"])
        #expect(bench.state.isDispensable(bench.facts), "its streams wait for nothing")
        bench.facts.outputs = FixedFacts().outputs
        #expect(!bench.state.isDispensable(bench.facts))
    }

    @Test func aStaleEventIsKeptAndChangesNothing() {
        var bench = RoomBench()
        bench.apply(RoomBench.published("alice"), time: 20)
        let late = bench.event(.streamUnpublished(user: "alice", stream: .camera, reason: nil), id: "2", time: 10)
        let (draft, outcome) = bench.state.applying(late, bench.cause(), bench.facts)
        #expect(outcome == .stale)
        let change = bench.commit(draft).change
        #expect(change.event == late)
        #expect(change.room == nil)
    }

    // MARK: Deletion

    @Test func aDeletedRoomEndsItsTasksFirst() throws {
        var bench = RoomBench.onAir()
        try bench.make("t1")
        let commit = bench.store(bench.state.deleting(bench.cause(), bench.facts))
        guard case .delete(_, expected: 1) = commit.change.room else {
            Issue.record("\(String(describing: commit.change.room))")
            return
        }
        #expect(bench.phase("t1") == .ending(.roomDeleted))
        for task in [RoomBench.automatic, "t1"] {
            #expect(commit.draft.actions(task).contains(.drainRelay))
            // A task outlives its room until its relay has ended.
            #expect(commit.change.tasks.first { $0.id == task }?.isPut == true)
            bench.state.ending(relayOf: task)
            let end = bench.store(bench.state.afterEnd(of: task, bench.cause(), bench.facts))
            #expect(end.change.tasks.first { $0.id == task }?.isDeleted == true)
        }
        #expect(bench.phase("t1") == .finished(.roomDeleted))
        #expect(!bench.state.isAnythingStored)
    }

    @Test func onlyAnEmptyRoomIsForgettable() throws {
        var bench = RoomBench()
        #expect(!bench.state.isForgettable, "it is not stored")
        bench.apply(.roomOpened)
        #expect(bench.state.isForgettable)
        var other = bench
        other.apply(.participantJoined(user: "alice", role: nil, name: nil))
        #expect(!other.state.isForgettable)
        try bench.make("t1")
        #expect(!bench.state.isForgettable)
    }

    @Test func aRoomThatWasMadeForATaskGoesWithIt() throws {
        var bench = RoomBench()
        let new = NewTask(id: "t1", settings: RoomSettings(outputs: bench.facts.outputs), attachment: "text")
        bench.store(try bench.state.making(new, version: 5, madeAt: 900, bench.cause(), bench.facts))
        #expect(bench.state.isStored)
        let stop = try #require(bench.state.stopping("t1", bench.cause()))
        let commit = bench.store(stop)
        #expect(commit.draft.deletesRoom)
        #expect(!bench.state.isAnythingStored)
    }

    // MARK: Tasks

    @Test func theSameRequestIsTheSameTask() throws {
        var bench = RoomBench()
        try bench.make("t1", isKeyed: true)
        let settings = RoomSettings(outputs: [PushDestination(id: "own", url: "rtmp://127.0.0.1/own")])
        #expect(try bench.state.repeated(NewTask(id: "t1", settings: settings)) == .same)
        let other = RoomSettings(outputs: bench.facts.outputs)
        func code(_ new: NewTask) -> String? {
            do throws(OrchestratorError) {
                _ = try bench.state.repeated(new)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(code(NewTask(id: "t1", settings: other)) == "task-exists")
        #expect(code(NewTask(id: "t1", settings: other, isKeyed: true)) == "idempotency-key-reused")
        #expect(code(NewTask(id: "t2", settings: other)) == nil)
        bench.store(try #require(bench.state.stopping("t1", bench.cause())))
        #expect(bench.phase("t1") == .finished(.requested))
        #expect(try bench.state.repeated(NewTask(id: "t1", settings: settings)) == nil, "a chosen id may come again")
        #expect(try bench.state.repeated(NewTask(id: "t1", settings: settings, isKeyed: true)) == .same)
    }

    @Test func aRoomHasSixteenTasksThatHaveNotEnded() throws {
        var bench = RoomBench()
        for number in 1...RoomState.mostTasks { try bench.make(TaskID("t\(number)")) }
        let next = NewTask(id: "next", settings: RoomSettings(outputs: bench.facts.outputs))
        #expect(throws: OrchestratorError.self) { try bench.state.repeated(next) }
        bench.store(try #require(bench.state.stopping("t3", bench.cause())))
        #expect(try bench.state.repeated(next) == nil)
    }

    @Test func aTaskBeyondTheCapacityIsNotMade() throws {
        var bench = RoomBench.onAir()
        bench.facts.availableCores = 0
        let error = #expect(throws: OrchestratorError.self) { try bench.make("t1") }
        #expect(error?.code == "no-capacity")
        #expect(error?.refusal?.availableCores == 0)
        #expect(bench.state.task("t1") == nil)
        bench.facts.availableCores = 100
        try bench.make("t1")
        #expect(bench.phase("t1") == .starting)
    }

    @Test func thereIsNothingToStopTwice() throws {
        var bench = RoomBench()
        try bench.make("t1")
        bench.store(try #require(bench.state.stopping("t1", bench.cause())))
        #expect(bench.state.stopping("t1", bench.cause()) == nil)
        #expect(bench.state.stopping("t9", bench.cause()) == nil)
    }

    @Test func endedTasksAreKeptForAnHour() throws {
        var bench = RoomBench()
        try bench.make("t1")
        bench.store(try #require(bench.state.stopping("t1", bench.cause())))
        let end = try #require(bench.state.task("t1")?.machine.document.finishedAt)
        #expect(end == 1000)
        #expect(bench.state.forgetting(at: end + 3599) == nil)
        #expect(bench.state.shownTasks(at: end + 3599).map(\.id) == [RoomBench.automatic, "t1"])
        #expect(bench.state.shownTasks(at: end + 3600).map(\.id) == [RoomBench.automatic])
        let forgetting = try #require(bench.state.forgetting(at: end + 3600))
        #expect(forgetting.tasks == ["t1"])
        #expect(bench.commit(forgetting.draft).change.tasks.map(\.isDeleted) == [true])
    }

    // MARK: Settings

    @Test func settingsAreComparedAndChangedInOneStep() throws {
        var bench = RoomBench()
        let change = SettingsChange(summary: "test") { settings, outputs in
            #expect(outputs == FixedFacts().outputs, "the configured ones, while it has none")
            var settings = settings
            settings.layout = "stage"
            return settings
        }
        guard case .changed(let new) = try bench.state.revising(change, bench.facts) else {
            Issue.record("the room is new")
            return
        }
        #expect(new.isNew)
        bench.store(bench.state.applying(new, version: 44, bench.cause(), bench.facts))
        #expect(bench.state.layoutNames(bench.facts) == ["stage"])
        guard case .unchanged(SettingsTag(44)) = try bench.state.revising(change, bench.facts) else {
            Issue.record("the settings are as requested")
            return
        }
        var late = change
        late.precondition = .isAt([SettingsTag(43).text])
        let error = #expect(throws: OrchestratorError.self) { _ = try bench.state.revising(late, bench.facts) }
        #expect(error?.kind == .outdated)
        #expect(error?.currentTag == SettingsTag(44))
    }

    @Test func aTaskKeepsOneOutputUntilItHasEnded() throws {
        var bench = RoomBench()
        try bench.make("t1")
        let removal = SettingsChange(
            task: "t1", summary: "test",
            apply: { settings, _ in
                var settings = settings
                settings.outputs = []
                return settings
            })
        var error = #expect(throws: OrchestratorError.self) { _ = try bench.state.revising(removal, bench.facts) }
        #expect(error?.code == "last-output")
        bench.store(try #require(bench.state.stopping("t1", bench.cause())))
        error = #expect(throws: OrchestratorError.self) { _ = try bench.state.revising(removal, bench.facts) }
        #expect(error?.code == "task-ended")
    }

    // MARK: Relays

    @Test func anAbsentSourceCallsForANewPlan() throws {
        var bench = RoomBench.onAir()
        bench.apply(RoomBench.published("bob"))
        let plan = try #require(bench.state.task(RoomBench.automatic)?.machine.document.plan)
        let status = bench.status(RoomBench.automatic, absent: ["bob/camera"])
        #expect(bench.state.takeSources(status, of: RoomBench.automatic) == "bob/camera is absent")
        #expect(bench.state.takeSources(status, of: RoomBench.automatic) == nil, "it is known already")
        let draft = bench.state.replanning(RoomBench.automatic, bench.cause(), bench.facts)
        let next = try #require(draft.tasks[0].machine.plan)
        #expect(next.revision > plan.revision)
        #expect(draft.actions().contains(.apply(next)))
    }

    /// Who publishes again after the end of a program is not known to be absent.
    @Test func theAbsentAreForgottenWithTheirStreams() {
        var bench = RoomBench.onAir()
        bench.apply(RoomBench.published("bob"))
        let status = bench.status(RoomBench.automatic, absent: ["bob/camera"])
        #expect(bench.state.takeSources(status, of: RoomBench.automatic) != nil)
        bench.apply(.roomClosed)
        bench.state.ending(relayOf: RoomBench.automatic)
        #expect(bench.state.task(RoomBench.automatic)?.sourceFacts.absent == [])
    }

    @Test func aLostRelayIsLaunchedAgainWhenItsDeadlinePasses() throws {
        var bench = RoomBench.onAir()
        #expect(bench.phase() == .running)
        let now = 100 * RoomBench.second
        bench.store(bench.state.losing(relayOf: RoomBench.automatic, reason: "killed", now: now, origin: "c9"))
        #expect(bench.phase() == .recovering)
        #expect(bench.state.task(RoomBench.automatic)?.status == nil)
        let lost = bench.state.losing(relayOf: RoomBench.automatic, reason: "killed", now: now, origin: "c9")
        var deadlines: [DeadlineToken] = []
        for case .scheduleDeadline(let token, at: _) in lost.actions() { deadlines.append(token) }
        bench.store(lost)
        let token = try #require(deadlines.first)
        let passed = bench.state.passing(
            token, of: RoomBench.automatic, now: now + 60 * RoomBench.second, origin: "c10", bench.facts)
        #expect(passed.actions().contains(.launchRelay))
    }

    @Test(arguments: [false, true]) func nothingIsLaunchedDuringAShutdown(isShuttingDown: Bool) {
        var bench = RoomBench.onAir()
        bench.apply(.roomClosed)
        #expect(bench.phase() == .ending(.roomClosed))
        bench.apply(RoomBench.published("bob"))
        if isShuttingDown {
            #expect(bench.state.shutDown() == [RoomBench.automatic])
            #expect(!bench.state.isQuiet)
            #expect(bench.state.tasksToWatch.isEmpty)
        }
        bench.state.ending(relayOf: RoomBench.automatic)
        #expect(bench.state.isQuiet)
        let draft = bench.state.afterEnd(of: RoomBench.automatic, bench.cause(), bench.facts)
        #expect(draft.actions().contains(.launchRelay) == !isShuttingDown)
    }

    // MARK: News

    @Test func occurrencesAreTheDifferenceThatADraftMakes() {
        var bench = RoomBench()
        let event = bench.event(RoomBench.published("alice"), time: 50)
        let draft = bench.state.applying(event, bench.cause(), bench.facts).draft
        let told = bench.state.takeOccurrences(of: draft, wallTime: 60, now: 0)
        #expect(told.contains { $0.at == 50 && $0.topic == .streamPublished })
        let started = Occurrence.Kind.taskStateChanged(
            RoomBench.automatic, .starting, from: .stopped, reason: nil, error: nil)
        #expect(told.filter { $0.at == 60 }.map(\.kind) == [started])
        bench.store(draft)
        let next = bench.state.replanning(bench.cause(), bench.facts)
        #expect(bench.state.takeOccurrences(of: next, wallTime: 70, now: 0).isEmpty)
    }

    /// A repeated event comes between a relay's report and the message about it.
    @Test func whatARefusedDraftWouldHaveReportedIsReportedLater() throws {
        var bench = RoomBench.onAir()
        var status = bench.status(RoomBench.automatic)
        status.outputs = [OutputStatus(DestinationStatus(id: "main", state: .live))]
        _ = bench.state.take(status, of: RoomBench.automatic, now: 0)
        let before = bench.state
        let draft = bench.state.replanning(bench.cause(), bench.facts)
        let told = bench.state.takeOccurrences(of: draft, wallTime: 60, now: 0)
        #expect(Set(told.map(\.topic)) == [.outputStateChanged, .roomServicesChanged])
        #expect(!bench.state.hasNews(of: RoomBench.automatic, now: 0))
        bench.state.putBackOccurrences(of: before)
        #expect(bench.state.hasNews(of: RoomBench.automatic, now: 0))
        #expect(bench.state.takeOccurrences(of: draft, wallTime: 60, now: 0) == told)
    }

    // MARK: Doubt

    @Test func theStoreIsRightAboutTheRoom() throws {
        var bench = RoomBench.onAir()
        try bench.make("t1")
        let tasks = bench.state.tasks.map(\.machine)
        let reading = bench.state.reread(nil, tasks)
        #expect(reading.wasDeleted)
        let draft = bench.state.deciding(after: reading, bench.cause(), bench.facts)
        #expect(draft.phase("t1") == .ending(.roomDeleted))
        #expect(draft.phase() == .ending(.roomClosed))
        #expect(!bench.state.isStored)
    }

    @Test func memoryIsRightAboutTheTasks() throws {
        var bench = RoomBench.onAir()
        var stored = bench.state.tasks[0].machine
        stored.version += 1
        stored.document = TaskMachine(id: RoomBench.automatic, room: "demo")
        let reading = bench.state.reread(bench.state.room, [stored])
        #expect(reading.needsDecision)
        #expect(!reading.isRoomOther)
        #expect(bench.phase() == .running)
        let change = bench.commit(bench.state.deciding(after: reading, bench.cause(), bench.facts)).change
        guard case .put(let document, expected: stored.version) = change.tasks.first?.write else {
            Issue.record("\(change.tasks)")
            return
        }
        #expect(document.phase == .running)
    }

    @Test func aTaskWhoseRequestFailedIsFound() throws {
        var bench = RoomBench.onAir()
        var other = bench
        try other.make("t1")
        let stored = other.state.tasks.map(\.machine)
        let reading = bench.state.reread(bench.state.room, stored)
        #expect(reading.found == ["t1"])
        let draft = bench.state.deciding(after: reading, bench.cause(), bench.facts)
        #expect(draft.actions("t1").contains(.launchRelay), "its relay is adopted or started")
        #expect(bench.state.reread(bench.state.room, stored).needsDecision == false)
    }
}

extension StoreChange.TaskChange {
    fileprivate var isPut: Bool { if case .put = write { true } else { false } }
    fileprivate var isDeleted: Bool { if case .delete = write { true } else { false } }
}
