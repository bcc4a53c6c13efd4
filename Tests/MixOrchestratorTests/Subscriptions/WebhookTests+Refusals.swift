import EventSubscription
import Foundation
import TaskStore
import Testing

@testable import MixOrchestrator
@testable import RoomService
@testable import TextFormats

/// Forbidden addresses, and a store that fails.
extension WebhookTests {
    /// The address is checked to which a name resolves, here one in the local network.
    @Test func theAddressIsJudgedThatIsConnectedTo() async throws {
        let allowed = try AllowList(["http://app.example", "http://127.0.0.1"])
        let post = WebhookPost(allowed: allowed) { _, _ in InternetAddress([10, 0, 0, 1]).map { [$0] } ?? [] }
        let request = WebhookRequest(
            url: try StreamURL("http://app.example/x?key=1"), headers: [], body: [], needs200: false)
        let answer = await post.send(request, within: .seconds(5))
        #expect(answer.result == .forbidden)
        #expect(
            answer.error
                == "may not be called: app.example, which is at 10.0.0.1, is not in callbacks.allow; add "
                + "scheme://host[:port] there")
        await post.close()
    }

    /// The connection goes to the checked address, however the host is written: no other resolver is asked.
    @Test func capitalLettersInAHostLeadNowhereElse() async throws {
        try await WebhookReceiver.run { receiver in
            let allowed = try AllowList(["http://app.example", "http://127.0.0.1"])
            let post = WebhookPost(allowed: allowed) { _, _ in InternetAddress([127, 0, 0, 1]).map { [$0] } ?? [] }
            let request = WebhookRequest(
                url: try StreamURL("http://App.EXAMPLE:\(receiver.port)/Hook"), headers: [], body: [], needs200: true)
            let answer = await post.send(request, within: .seconds(30))
            await post.close()
            #expect(answer.result == .delivered, "\(answer)")
            #expect(receiver.messages.map(\.path) == ["/Hook"])
        }
    }

    @Test func whatTheStoreDoesNotTakeIsToldWhenItDoes() async throws {
        try await WebhookReceiver.run { receiver in
            try await withDirectory { directory in
                let isFull = LockedFlag()
                let store = FullStore(MemoryTaskStore(), isFull)
                try await withOrchestrator(directory: directory, store: store, policy: DeliveryPolicy.quick) { bench in
                    _ = try await bench.subscribe(receiver.url)
                    try await bench.publish("alice")
                    try await eventually {
                        receiver.taken.contains { (try? $0.value("data.state")) == "live" } ? true : nil
                    }
                    isFull.value = true
                    // An event that is not stored has no effect, and no message reports it.
                    let body = #"{"type":"participant.joined","user":"eve"}"#
                    #expect(try await bench.call(.post, "/v1/rooms/demo/events", body).status == 503)
                    // The end of a relay is handled all the same.
                    try #require(bench.relays.started.first).kill()
                    try await eventually { bench.relays.started.count == 2 ? true : nil }
                    isFull.value = false
                    try await bench.join("bob")
                    try await eventually {
                        receiver.taken.contains { (try? $0.value("data.user")) == "bob" } ? true : nil
                    }
                    try await eventually {
                        receiver.taken.contains {
                            (try? $0.value("data.state")) == "recovering" && $0.body.contains("task.stateChanged")
                        } ? true : nil
                    }
                    #expect(!receiver.taken.contains { (try? $0.value("data.user")) == "eve" })
                }
            }
        }
    }
}

/// A store that takes no changes while the flag is set.
private final class FullStore: ForwardingTaskStore {
    let base: any TaskStore
    private let isFull: LockedFlag
    init(_ base: any TaskStore, _ isFull: LockedFlag) { (self.base, self.isFull) = (base, isFull) }
    func commit(_ change: StoreChange) async throws(StoreError) -> CommitResult {
        guard !isFull.value else { throw .full(path: "x") }
        return try await base.commit(change)
    }
}
