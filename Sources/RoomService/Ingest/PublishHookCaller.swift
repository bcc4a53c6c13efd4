import EventSubscription
import Foundation
import MixModel

/// Asks `ingest.onPublish` about publishers, about each of them over a connection of its own.
struct PublishHookCaller: Sendable {
    private let hook: PublishHook
    private let post: SignedPost

    /// Most questions at once: as many as an ingest has.
    static let mostQuestions = 256

    /// - Parameter allowed: `callbacks.allow`.
    init(_ hook: PublishHook, allowed: AllowList) {
        self.hook = hook
        post = SignedPost(allowed: allowed, secret: hook.secret, connections: Self.mostQuestions)
    }

    /// - Parameters:
    ///   - names: What the stream's name says; `nil` if it fits no pattern.
    ///   - misfit: The reason for that.
    func ask(_ request: IngestRequest, app: AppID, names: StreamNames?, misfit: String) async -> PublishHookDecision {
        let question = PublishHookQuestion(request, app: app, names: names)
        let body = Array(jsonBytes(question).readableBytesView)
        let answer = await post.send(body, id: question.id, to: hook.url, within: hook.timeout)
        return PublishHookReader(app: app, names: names, misfit: misfit).decision(on: answer, within: hook.timeout)
    }

    /// Ends the connections. Nothing may be asked afterwards.
    func close() async { await post.close() }
}
