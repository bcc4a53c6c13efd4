import MixModel
import RoomChannel

/// A node's request to another node about the channel of a room.
package enum ChannelOrder: Hashable, Codable, Sendable {
    /// Return news to a node that mirrors the channel.
    case follow(RoomID, ChannelFollowing)
    /// Count the viewers of a node that mirrors the channel.
    case count(RoomID, mirror: String, viewers: Int)
    /// Perform this call at the node that has the room.
    case call(RoomID, ChannelCall)
    /// Keep the channel of a room that is about to arrive. `epoch` is the number of its lease before it is passed.
    case take(RoomID, ChannelHandover, epoch: Int64)
}

/// A node's request for news of a channel.
package struct ChannelFollowing: Hashable, Codable, Sendable {
    /// Name of the mirroring node.
    package var mirror: String
    /// Place up to which the node knows everything; `nil` = it knows nothing of this log.
    package var place: ChannelPlace?
    /// Number of the last message that the node knows.
    package var known: Int64
    package var viewers: Int
    /// Whether the answer may wait until there is news.
    package var waits: Bool
}

/// The answer to a `ChannelOrder`.
package struct ChannelAnswer: Hashable, Codable, Sendable {
    /// The reason why the order was not carried out.
    package struct Fault: Hashable, Codable, Sendable {
        package var kind: OrchestratorError.Kind
        package var code: String
        package var title: String
        package var detail: String
        package var field: String?
        package var expected: String?
        package var retryAfter: Int?
    }

    package var bulletin: ChannelBulletin?
    package var reply: ChannelReply?
    package var fault: Fault?

    init(bulletin: ChannelBulletin? = nil, reply: ChannelReply? = nil) {
        self.bulletin = bulletin
        self.reply = reply
    }

    init(_ error: OrchestratorError) {
        fault = Fault(
            kind: error.kind, code: error.code, title: error.title, detail: error.detail, field: error.field,
            expected: error.expected, retryAfter: error.retryAfter)
    }

    /// The other node's reason for not carrying out the order.
    var error: OrchestratorError? {
        fault.map {
            OrchestratorError(
                $0.kind, $0.code, $0.title, detail: $0.detail, field: $0.field, expected: $0.expected,
                retryAfter: $0.retryAfter)
        }
    }
}

/// Decides whether to repeat a call, because its room may have moved to another node. Pure.
enum ChannelPatience {
    /// Time within which the room must be found.
    static let limit: Duration = .seconds(6)
    /// Timeout for an answer that the other node gives at once.
    static let answer: Duration = .seconds(5)
    /// Timeout for the answer to a question that may wait for news: longer than the other node waits.
    static let bulletin: Duration = .nanoseconds(ChannelWatchers.patience) + .seconds(4)
    /// Time between two attempts.
    static let pause: Duration = .milliseconds(100)
    /// Longest answer that is read, in bytes: a history and its envelope.
    static let longestAnswer = 2 << 20

    /// Errors after which nothing was done, and which pass when the room has found its node. A node that did not answer
    /// may have done what it was asked to.
    private static let passing: Set<String> = ["room-moving", "room-elsewhere", "stopping"]

    /// - Parameter spent: Time since the first attempt.
    static func triesAgain(after error: OrchestratorError, spent: Duration) -> Bool {
        passing.contains(error.code) && spent + pause < limit
    }
}
