import EventSubscription
import Foundation
import MixModel

/// Asks `ingest.onPublish` about publishers, each over a connection of its own.
struct PublishHookCaller: Sendable {
    private let hook: PublishHook
    private let post: SignedPost

    /// Maximum number of simultaneous questions: as many as an ingest has.
    static let mostQuestions = 256

    /// - Parameter allowed: `callbacks.allow`.
    init(_ hook: PublishHook, allowed: AllowList) {
        self.hook = hook
        post = SignedPost(allowed: allowed, secret: hook.secret, connections: Self.mostQuestions)
    }

    /// - Parameters:
    ///   - names: The names parsed from the stream's name; `nil` if it matches no pattern.
    ///   - mismatch: The reason why it matches no pattern.
    func ask(_ request: IngestRequest, app: AppID, names: StreamNames?, mismatch: String) async -> PublishHookDecision {
        let question = PublishHookQuestion(request, app: app, names: names)
        let body = Array(jsonBytes(question).readableBytesView)
        let answer = await post.send(body, id: question.id, to: hook.url, within: hook.timeout)
        return PublishHookReader(app: app, names: names, mismatch: mismatch).decision(on: answer, within: hook.timeout)
    }

    /// Closes the connections. No question may follow.
    func close() async { await post.close() }
}
