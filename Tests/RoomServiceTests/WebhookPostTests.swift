import EventSubscription
import Synchronization
import Testing
import TextFormats

@testable import RoomService

@Suite(.timeLimit(.minutes(1))) struct WebhookPostTests {
    /// A client that is not shut down ends the process when it is released.
    @Test func everyClientOfAHostThatMovesIsShutDown() async throws {
        let count = Mutex<UInt8>(1)
        let allowed = try AllowList(["http://app.example", "http://127.0.0.*"])
        let post = WebhookPost(allowed: allowed) { _, _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return InternetAddress([127, 0, 0, number]).map { [$0] } ?? []
        }
        let request = WebhookRequest(
            url: try StreamURL("http://app.example:9/"), headers: [], body: [], needs200: false)
        await withDiscardingTaskGroup { group in
            for _ in 0..<100 {
                group.addTask {
                    let answer = await post.send(request, within: .seconds(10))
                    #expect(answer.result == .unreachable)
                }
            }
        }
        await post.close()
    }
}
