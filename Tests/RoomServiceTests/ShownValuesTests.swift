import LayoutEngine
import MixModel
import RoomChannel
import TaskStore
import Testing

@testable import RoomService

/// Mixes that show values of their rooms' channels. Nothing is stored, recorded or delayed for these values.
@Suite struct ShownValuesTests {
    private static func layout(_ text: String = "{viewers} · {comment}") throws -> LayoutTemplate {
        try LayoutTemplate.decode(
            """
            {"params": {"title": {"type": "text", "default": "Hello"}},
             "overlays": [{"text": "\(text)", "place": "top"}, {"text": "{title}", "place": "bottom"}],
             "arrangements": [{"algorithm": "grid"}]}
            """.utf8, name: "auto")
    }

    /// Returns a bench with a mix of two on air.
    private static func mixing(_ layout: LayoutTemplate) -> RoomBench {
        var bench = RoomBench()
        bench.facts.layout = layout
        bench.apply(RoomBench.published("alice"))
        let status = bench.status(RoomBench.automatic)
        bench.store(
            bench.state.changing(RoomBench.automatic, nil) { machine, _ in machine.relayConnected(status, now: 0) })
        bench.apply(RoomBench.published("bob"))
        return bench
    }

    private func texts(_ bench: RoomBench) -> [String] {
        (bench.state.task(RoomBench.automatic)?.machine.document.plan?.scene.overlays ?? []).compactMap {
            if case .text(let text, _) = $0.content { text } else { nil }
        }
    }

    @Test func onlyThePictureChanges() throws {
        var bench = Self.mixing(try Self.layout())
        #expect(texts(bench) == ["– · ", "Hello"])
        #expect(bench.state.shownValues(bench.facts) == [.viewers, .comment])
        let before = try #require(bench.state.task(RoomBench.automatic)?.machine.document.plan)
        #expect(bench.state.showingValues(bench.facts) == nil, "nothing has changed")

        bench.facts.values = LayoutValues(viewers: 12_345, comment: "Ann: hi")
        let draft = try #require(bench.state.showingValues(bench.facts))
        guard case .apply(let plan)? = draft.actions().first, draft.actions().count == 1 else {
            Issue.record("\(draft.actions())")
            return
        }
        #expect(plan.revision == before.revision + 1)
        #expect(plan.onlyChangesOverlays(of: before) && !plan.onlyChangesOverlays(of: plan.with { $0.cause = "else" }))
        #expect((plan.cause, plan.causes, plan.causedAt) == (before.cause, before.causes, before.causedAt))
        let commit = bench.commit(draft)
        #expect(commit.change.tasks.allSatisfy { $0.timeline.isEmpty } && commit.change.room == nil)

        // The change is kept in memory and stored together with the next one.
        bench.committer.keep(commit, in: &bench.state)
        #expect(texts(bench) == ["12.3K · Ann: hi", "Hello"])
        #expect(bench.state.showingValues(bench.facts) == nil)
        let next = bench.apply(RoomBench.published("carol"))
        #expect(next.change.tasks.contains { if case .put = $0.write { true } else { false } })
        #expect(texts(bench) == ["12.3K · Ann: hi", "Hello"])
        #expect(bench.state.task(RoomBench.automatic)?.machine.document.plan?.revision == plan.revision + 1)
    }

    @Test func roomsWhoseLayoutShowsNoneAreLeftAlone() throws {
        var bench = Self.mixing(try Self.layout("{people}"))
        bench.facts.values = LayoutValues(viewers: 3)
        #expect(bench.state.shownValues(bench.facts) == [])
        #expect(bench.state.showingValues(bench.facts) == nil)

        var alone = RoomBench.onAir()
        alone.facts.layout = try Self.layout()
        alone.facts.values = LayoutValues(viewers: 3)
        #expect(alone.state.shownValues(alone.facts) == [], "a bypass shows no layout")
        #expect(alone.state.showingValues(alone.facts) == nil)
    }

    /// A new number of viewers does not bring forward a change that waits for the end of the debounce window.
    @Test func aChangeThatIsHeldBackStaysSo() throws {
        var bench = Self.mixing(try Self.layout())
        let event = bench.event(RoomBench.published("carol"), id: "2")
        let at = Cause(receivedAt: 2 * RoomBench.second + 1, summary: "soon after", id: "c9")
        bench.store(bench.state.applying(event, at, bench.facts).draft)
        #expect(bench.state.room.document.streams.count == 3)
        #expect(bench.state.task(RoomBench.automatic)?.machine.document.plan?.sources.count == 2)
        bench.facts.values = LayoutValues(viewers: 3)
        #expect(bench.state.showingValues(bench.facts) == nil)
    }

    /// The store may know fewer plans than the relay.
    @Test func aRelayThatIsAheadOfTheStoreGetsANewerPlan() throws {
        let bench = Self.mixing(try Self.layout())
        var status = bench.status(RoomBench.automatic)
        status.revision += 100
        let actions = bench.state.changing(RoomBench.automatic, nil) { machine, _ in
            machine.relayConnected(status, now: 1)
        }.actions()
        #expect(
            actions.contains { if case .apply(let plan) = $0 { plan.revision == status.revision + 1 } else { false } })
    }

    @Test func whatAChannelShowsIsFitToBeDrawn() throws {
        var machine = ChannelMachine(rules: ChannelRules(), now: 0)
        #expect(machine.shownValues([.viewers, .likes, .comment]) == LayoutValues(viewers: 0, likes: 0))
        func say(_ text: String, _ name: String?, _ number: Int64) throws -> Int64 {
            let sender = ChannelSender(user: "u1", name: name, address: "127.0.0.1", isModerator: true)
            return try machine.send(
                ChannelDraft(kind: .comment, text: text), from: sender, now: number * RoomBench.second,
                wallClock: number * 1_000_000
            ).message.id
        }
        _ = try say("Hello", "Ann", 1)
        let second = try say("\u{202E}Bye   \u{2066}now", nil, 2)
        #expect(machine.shownValues([.comment]) == LayoutValues(comment: "u1: Bye now"))
        // The comment was sent at 2,000 ms; the one before it is older.
        #expect(machine.shownValues([.comment], commentsSince: 2000).comment == "u1: Bye now")
        #expect(machine.shownValues([.comment], commentsSince: 2001) == LayoutValues())
        // A deleted comment leaves the picture.
        _ = try machine.delete(second)
        #expect(machine.shownValues([.comment]) == LayoutValues(comment: "Ann: Hello"))
        _ = try say(String(repeating: "x", count: 400), String(repeating: "n", count: 40), 3)
        let long = try #require(machine.shownValues([.comment]).comment)
        #expect(long.count == 24 + 2 + 120 && long.hasSuffix("x…"))
        #expect(machine.shownValues([.likes]) == LayoutValues(likes: 0))
    }
}

extension ProgramPlan {
    fileprivate func with(_ change: (inout ProgramPlan) -> Void) -> ProgramPlan {
        var plan = self
        change(&plan)
        return plan
    }
}
