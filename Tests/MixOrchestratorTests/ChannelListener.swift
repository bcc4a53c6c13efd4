import Foundation
import TestSupport
import Testing

/// A follower of a room's channel over server-sent events.
struct ChannelListener: Sendable {
    private let connection: RawConnection

    /// - Parameter room: Name of the room, perhaps with a query.
    static func open(_ room: String, at node: ClusterMember) async throws -> ChannelListener {
        let parts = room.split(separator: "?", maxSplits: 1)
        let query = parts.count > 1 ? "?\(parts[1])" : ""
        let listener = ChannelListener(connection: try await RawConnection.open(node.port))
        listener.connection.send("GET /v1/rooms/\(parts[0])/channel\(query) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try await listener.hears("event: state")
        #expect(listener.text.hasPrefix("HTTP/1.1 200 "), "\(listener.text)")
        return listener
    }

    var text: String { connection.text }
    var isClosed: Bool { connection.isClosed }

    /// The numbers of the comments, in the order of their arrival.
    var ids: [Int64] { text.matches(of: /id: (\d+)\nevent: comment\n/).compactMap { Int64($0.1) } }
    /// The texts of the comments.
    var texts: [String] { text.matches(of: /event: comment\ndata: .*?"text":"([^"]*)"/).map { String($0.1) } }
    /// The last reported number of connections that follow the channel.
    var viewers: Int? { text.matches(of: /"channel":(\d+)/).last.flatMap { Int($0.1) } }

    func hears(_ words: String) async throws {
        try await eventually("\(words) is not in \(text.suffix(500))") { text.contains(words) ? true : nil }
    }

    func close() { connection.close() }
}

extension ClusterMember {
    /// Sends a comment to the channel of a room.
    func say(_ text: String, as user: String = "bob", in room: String = "demo") async throws -> Answer {
        try await call("POST", "/v1/rooms/\(room)/messages", #"{"text":"\#(text)","user":"\#(user)"}"#)
    }
}
