import EventSubscription
import Foundation
import Synchronization
import TestSupport
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

    /// A host of two addresses, of which one accepts connections and never answers.
    @Test func anAddressThatDoesNotAnswerIsLeft() async throws {
        let silent = try LoopbackListener()
        defer { close(silent.descriptor) }
        let numbers: [UInt8] = [1, 2]
        let addresses = numbers.compactMap { InternetAddress([127, 0, 0, $0]) }
        let post = WebhookPost(allowed: try AllowList(["http://app.example", "http://127.0.0.*"])) { _, _ in addresses }
        let request = WebhookRequest(
            url: try StreamURL("http://app.example:\(silent.port)/"), headers: [], body: [], needs200: false)
        let first = await post.send(request, within: .milliseconds(200))
        // Nothing listens at the other address.
        let second = await post.send(request, within: .seconds(10))
        await post.close()
        #expect(first.result == .timeout && second.result == .unreachable, "\(first), \(second)")
    }
}
