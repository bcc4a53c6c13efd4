import MixModel
import TaskStore
import Testing

@testable import MixOrchestrator

/// Calls of 100ms' interface while the store fails.
@Suite(.timeLimit(.minutes(5))) struct HMSDoubtTests {
    /// The room would be sent to the URL for good, although no session is known that could be stopped.
    @Test(arguments: [false, true]) func aStartWithoutAnAnswerLeavesNothingInTheRoom(refusesMore: Bool) async throws {
        try await withDirectory { directory in
            let store = StumblingStore()
            try await withOrchestrator(directory: directory, store: store, settings: HMSCaller.settings) { bench in
                let caller = HMSCaller(bench: bench)
                let path = "external-streams/room/demo/start"
                let body = #"{"rtmp_urls":["rtmp://127.0.0.1/cdn/a"]}"#
                store.stumble(refusesMore: refusesMore)
                let failed = try await caller.post(path, body)
                #expect(failed.status == 503, "\(failed.text)")
                let left = try await store.room("shop/demo")?.document.settings.outputs
                #expect((left != nil) == refusesMore)
                store.recover()
                let again = try await eventually("the URL stays in use") {
                    let answer = try await caller.post(path, body)
                    return answer.status == 200 ? answer : nil
                }
                let id = try #require(try again.value("id"))
                let outputs = try await store.room("shop/demo")?.document.settings.outputs
                #expect(outputs?.map(\.id.rawValue) == ["100ms-\(id)-1"])
            }
        }
    }
}

/// A store that takes a change without an answer, and may then refuse further ones for a while.
private final class StumblingStore: ForwardingTaskStore {
    private enum State { case well, stumbles(refusesMore: Bool), refuses }

    let base: any TaskStore = MemoryTaskStore()
    private let state = LockedBox(State.well)

    func stumble(refusesMore: Bool) { state.value = .stumbles(refusesMore: refusesMore) }
    func recover() { state.value = .well }

    func commit(_ change: StoreChange) async throws(StoreError) -> CommitResult {
        switch state.value {
        case .well: return try await base.commit(change)
        case .stumbles(let refusesMore):
            state.value = refusesMore ? .refuses : .well
            _ = try await base.commit(change)
            throw .outcomeUnknown(place: "the store")
        case .refuses: throw .unavailable(place: "the store", reason: "it is being restarted")
        }
    }
}
