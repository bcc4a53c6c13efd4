import EventSubscription
import MixModel
import TaskStore
import Testing

@testable import RoomService

/// The outcomes of drafts that the store takes, refuses or may have taken.
@Suite struct RoomCommitterTests {
    private func message(_ number: Int) -> OutboxMessage {
        OutboxMessage(id: "msg_\(number)", subscription: "s", lane: "demo", topic: .test, body: [])
    }

    @Test func onlyAFullStoreLeavesNoDoubt() {
        var bench = RoomBench()
        let draft = bench.state.applying(bench.event(.roomOpened), bench.cause(), bench.facts).draft
        let commit = bench.commit(draft)
        bench.committer.failed(commit, .full(path: "x"))
        #expect(bench.committer.doubt == nil)
        bench.committer.failed(commit, .overloaded)
        #expect(bench.committer.doubt == [RoomBench.automatic])
        bench.committer.settled()
        #expect(bench.committer.doubt == nil)
    }

    @Test func whatIsPerformedUnstoredIsStoredWithTheNextChange() throws {
        var bench = RoomBench.onAir()
        let version = bench.state.tasks[0].machine.version
        let loss = bench.state.losing(relayOf: RoomBench.automatic, reason: "killed", now: 0, origin: "c9")
        var commit = bench.commit(loss)
        let entries = try #require(commit.change.tasks.first?.timeline)
        #expect(!entries.isEmpty)
        commit.change.outbox = [message(1)]
        bench.committer.keep(commit, in: &bench.state)
        #expect(bench.phase() == .recovering)
        #expect(bench.state.tasks[0].machine.version == version)
        #expect(bench.state.tasks[0].unstoredEntries == entries)
        #expect(!bench.state.isDispensable(bench.facts))

        let next = bench.store(bench.state.draft(cause: nil))
        #expect(next.change.tasks.first?.timeline == entries)
        #expect(next.change.outbox == [message(1)])
        guard case .put(_, expected: version) = next.change.tasks.first?.write else {
            Issue.record("\(next.change.tasks)")
            return
        }
        #expect(bench.state.tasks[0].machine.version == version + 1)
        #expect(bench.state.tasks[0].unstoredEntries.isEmpty)
        #expect(bench.commit(bench.state.draft(cause: nil)).change.isEmpty)
    }

    @Test func whatWaitsForTheStoreIsBounded() {
        var bench = RoomBench.onAir()
        for number in 0..<300 {
            let entry = TimelineEntry(kind: .relay, message: "\(number)")
            var commit = bench.commit(bench.state.changing(RoomBench.automatic, nil) { _, _ in [.record(entry)] })
            commit.change.outbox.append(message(number))
            bench.committer.keep(commit, in: &bench.state)
        }
        #expect(bench.state.tasks[0].unstoredEntries.map(\.entry.message) == (100..<300).map { "\($0)" })
        #expect(bench.committer.unstoredMessages.map(\.id) == (100..<300).map { "msg_\($0)" })
    }

    @Test func anEventComesBeforeItsConsequences() throws {
        var bench = RoomBench()
        let commit = bench.apply(RoomBench.published("alice"))
        let entries = try #require(commit.change.tasks.first?.timeline).map(\.entry)
        #expect(entries.first?.kind == .event)
        #expect(entries.first?.event == EventReference(source: "test", id: "1"))
        #expect(entries.count > 1)
        #expect(entries.allSatisfy { $0.causes == ["c1"] })
    }

    @Test func nothingIsStoredForAnIdleRoomThatIsNotThere() {
        var bench = RoomBench()
        bench.facts.outputs = []
        #expect(bench.commit(bench.state.replanning(bench.cause(), bench.facts)).change.isEmpty)
    }
}
