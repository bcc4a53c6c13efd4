import Crypto
import MixModel
import TaskStore
import TextFormats

/// The nodes of WebRTC sessions, read from the sessions' addresses, which have a mark of the node after the identifier.
/// Without a cluster all sessions are here, and addresses have no mark.
package struct SessionHomes: Sendable {
    private let node: ClusterNode?

    /// Digits of an identifier, and of a mark.
    private static let digits = (identifier: 32, mark: 8)

    package init(node: ClusterNode? = nil) { self.node = node }

    /// Returns what names a session of this node in addresses.
    package func address(of id: String) -> String { id + (node.map { Self.mark(of: $0.settings.name) } ?? "") }

    /// The mark of a node: the same in all of its lives, because sessions may outlive the service.
    static func mark(of name: String) -> String {
        Hexadecimal.text(SHA256.hash(data: Array(name.utf8)).prefix(digits.mark / 2))
    }

    /// Returns the identifier of a session without the mark; the whole text if it has none.
    package static func identifier(in address: String) -> String {
        address.utf8.count == digits.identifier + digits.mark
            ? String(decoding: address.utf8.prefix(digits.identifier), as: UTF8.self) : address
    }

    /// Returns the identifier of a session that this node may have. That of no node is no session's.
    ///
    /// - Throws: `OrchestratorError` if another node has it, to which the request is passed on.
    package func identifier(of address: String) async throws(OrchestratorError) -> String {
        let id = Self.identifier(in: address)
        guard let node, id.utf8.count < address.utf8.count else { return address }
        let mark = String(decoding: address.utf8.dropFirst(Self.digits.identifier), as: UTF8.self)
        guard !mark.hasSameUTF8(as: Self.mark(of: node.settings.name)) else { return id }
        var other = node.neighbour(withMark: mark)
        if other == nil {
            // It may have begun a moment ago.
            try? await node.readRoster()
            other = node.neighbour(withMark: mark)
        }
        guard let other else { return address }
        NodeForwarding.current?.note(other)
        throw OrchestratorError(
            .unavailable, "session-elsewhere", "Another node has the session", detail: "ask \(other.url)", retryAfter: 1
        )
    }

    /// Makes sure that a publisher of the room can be taken here. Where the other nodes do not reach the ingest, they are passed on
    /// to the node that has the room.
    ///
    /// - Throws: `OrchestratorError` if another node has to take the publisher.
    package func takePublisher(of room: RoomID) async throws(OrchestratorError) {
        guard let node, node.settings.ingest == nil else { return }
        try await node.check(room)
    }
}

extension ClusterNode {
    /// The other node at work whose sessions have this mark.
    fileprivate func neighbour(withMark mark: String) -> NodeProfile? {
        others.first { entry in
            entry.isAtWork && entry.profile.map { SessionHomes.mark(of: $0.name).hasSameUTF8(as: mark) } ?? false
        }?.profile
    }
}
