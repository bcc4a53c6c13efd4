import MixModel
import RoomChannel

/// What a node asks of another one about the channel of a room.
package enum ChannelOrder: Hashable, Codable, Sendable {
    /// Tell what is new to a node that mirrors the channel.
    case follow(RoomID, ChannelFollowing)
    /// Count the viewers of a node that mirrors the channel.
    case count(RoomID, mirror: String, viewers: Int)
    /// Do this where the room is.
    case call(RoomID, ChannelCall)
    /// Keep the channel of a room that is about to come, whose lease has this number before it is passed.
    case take(RoomID, ChannelHandover, epoch: Int64)
}

/// A node's question after what is new in a channel.
package struct ChannelFollowing: Hashable, Codable, Sendable {
    /// Name of the node.
    package var mirror: String
    /// Place up to which it knows everything; `nil` = it knows nothing of this log.
    package var place: ChannelPlace?
    /// Number of the last message that it knows.
    package var known: Int64
    package var viewers: Int
    /// Whether the answer may wait until there is something new.
    package var waits: Bool
}

/// The answer to a `ChannelOrder`.
package struct ChannelAnswer: Hashable, Codable, Sendable {
    /// Reason why the order was not followed.
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

    /// The other node's reason why the order was not followed.
    var error: OrchestratorError? {
        fault.map {
            OrchestratorError(
                $0.kind, $0.code, $0.title, detail: $0.detail, field: $0.field, expected: $0.expected,
                retryAfter: $0.retryAfter)
        }
    }
}

/// Decides whether a call is made again, because its room may be at another node by then. Pure.
enum ChannelPatience {
    /// Time in which a room has to be found.
    static let limit: Duration = .seconds(6)
    /// Time for one answer of another node that does not wait.
    static let answer: Duration = .seconds(5)
    /// Time for the answer to a question that may wait for something new: longer than it waits.
    static let bulletin: Duration = .nanoseconds(ChannelWatchers.patience) + .seconds(4)
    /// Time between two attempts.
    static let pause: Duration = .milliseconds(100)
    /// Longest answer that is read, in bytes: a history, and what surrounds it.
    static let longestAnswer = 2 << 20

    /// Reasons for which nothing was done, and which pass when the room has found its node. A node that did not answer may have
    /// done what it was asked for.
    private static let passing: Set<String> = ["room-moving", "room-elsewhere", "stopping"]

    /// - Parameter spent: Time since the first attempt.
    static func triesAgain(after error: OrchestratorError, spent: Duration) -> Bool {
        passing.contains(error.code) && spent + pause < limit
    }
}
