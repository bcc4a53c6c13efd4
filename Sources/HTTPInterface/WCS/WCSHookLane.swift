import EncodedMedia
import EventSubscription
import RoomService
import Synchronization

/// The hooks of one connection, which are called one after another in order of occurrence.
final class WCSHookLane: Sendable {
    /// The decision that depends on an answer.
    enum Question: Sendable {
        case connect
        /// - Parameter number: Number of the attempt: a client may end a stream and begin another one with its identifier.
        case begin(WCSSession.Wish, number: Int)
    }

    private struct Call: Sendable {
        let method: WCSHookMethod
        let fields: [String: JSONValue]
        let question: Question?
    }

    private let hooks: WCSHooks
    private let calls: AsyncStream<Call>
    private let call: AsyncStream<Call>.Continuation
    /// Time until which calls are made, in ns of CLOCK_MONOTONIC; set when the connection has ended.
    private let end = Mutex<Int64?>(nil)

    /// Largest number of waiting calls.
    static let mostWaiting = 64
    /// Time limit for the calls of a connection that has ended.
    static let farewell = Duration.seconds(5)

    init(_ hooks: WCSHooks) {
        self.hooks = hooks
        (calls, call) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.mostWaiting))
    }

    /// Adds a call.
    ///
    /// - Returns: False if too many wait, or the connection has ended: there will be no answer.
    @discardableResult
    func put(_ method: WCSHookMethod, _ fields: [String: JSONValue], _ question: Question? = nil) -> Bool {
        if case .enqueued = call.yield(Call(method: method, fields: fields, question: question)) { return true }
        hooks.drop(method)
        return false
    }

    /// Ends the lane. Waiting calls are still made, for at most `farewell`.
    func finish() {
        end.withLock { $0 = MonotonicClock.now() + Int64(Self.farewell / .nanoseconds(1)) }
        call.finish()
    }

    /// Makes the calls until the lane is finished.
    ///
    /// - Parameter answered: Called with each answer to a question.
    func run(_ answered: (Question, WebhookAnswer) async -> Void) async {
        for await call in calls {
            let end = end.withLock { $0 }
            let left = end.map { Duration.nanoseconds($0 - MonotonicClock.now()) } ?? hooks.settings.timeout
            guard left > .zero else {
                hooks.drop(call.method)
                continue
            }
            // The client that asked for admission has gone.
            if end != nil, call.question != nil { continue }
            let answer = await hooks.call(call.method, call.fields, within: left)
            if let question = call.question { await answered(question, answer) }
        }
    }
}
