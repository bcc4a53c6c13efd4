import EventSubscription
import Foundation
import MixModel

/// Posts JSON to an operator's server, signed like every webhook, and keeps the answers.
package struct SignedPost: Sendable {
    private let post: WebhookPost
    private let secrets: [Subscription.Secret]

    /// - Parameters:
    ///   - allowed: `callbacks.allow`.
    ///   - secret: A secret that `WebhookSignature.key(of:)` can parse; `nil` = requests are not signed.
    ///   - connections: Maximum number of connections; further requests wait.
    package init(allowed: AllowList, secret: String?, connections: Int) {
        post = WebhookPost(allowed: allowed, connections: connections)
        secrets = [secret].compactMap { $0 }.map { .init(text: $0) }
    }

    /// - Parameters:
    ///   - id: Identifier of the message, the same in every repetition.
    ///   - limit: Timeout for the whole attempt.
    ///   - headers: Further header fields.
    ///   - needs200: Whether only status 200 is success; otherwise every 2xx is.
    package func send(
        _ body: [UInt8], id: String, to url: StreamURL, within limit: Duration,
        headers: [(name: String, value: String)] = [], needs200: Bool = false
    ) async -> WebhookAnswer {
        let signature = WebhookSignature.standard(id: id, time: Int(wallClock()), body: body, secrets: secrets)
        return await post.send(
            WebhookRequest(
                url: url,
                headers: [("content-type", "application/json"), ("accept", "application/json")] + headers + signature,
                body: body, needs200: needs200, keepsAnswer: true),
            within: limit)
    }

    /// Closes the connections. Nothing may be sent afterwards.
    package func close() async { await post.close() }
}
