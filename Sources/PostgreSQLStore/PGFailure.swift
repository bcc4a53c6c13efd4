import TaskStore

/// A failure of the connection, or of a statement.
struct PGFailure: Error, Sendable {
    enum Kind: Sendable {
        /// A connection could not be made.
        case unreachable
        /// The connection was lost. The effect of the last request is unknown.
        case lost
        /// The server refused the statement; the connection is intact.
        case refused
    }

    var kind: Kind
    /// A single line without secrets.
    var message: String
    /// SQLSTATE of the server's answer, if there was one (postgresql.org/docs/15/errcodes-appendix.html).
    var state: String?

    init(_ kind: Kind, _ message: String, state: String? = nil) {
        let isEnd = state.map { Self.ends.contains($0) } ?? false
        self.kind = isEnd && kind == .refused ? .lost : kind
        self.message = message
        self.state = state
    }

    /// The server ends the connection (shutdown, crash of another process), is starting or stopping, or no longer
    /// accepts writes because it became a standby.
    private static let ends: Set = ["57P01", "57P02", "57P03", "57P05", "25P03", "25006"]

    /// Whether the same statements may succeed when they are repeated at once, because they conflicted with another
    /// writer.
    var isTransient: Bool { ["40001", "40P01", "23505", "55P03"].contains(state) }

    /// Whether a single change of a group may be the cause, rather than the server, its disk or the connection.
    var isOfOneWrite: Bool {
        guard kind == .refused, let state else { return false }
        return !["53", "58", "57", "XX"].contains { state.hasPrefix($0) }
    }

    /// Returns the failure as the error that callers of the store receive.
    func storeError(_ place: String) -> StoreError {
        switch (kind, state) {
        case (.unreachable, _), (.lost, _): .unavailable(place: place, reason: message)
        case (.refused, "53100"): .full(path: place)
        case (.refused, "42P01"), (.refused, "42703"), (.refused, "42883"):
            .corrupt(path: place, reason: message)
        case (.refused, let state?) where state.hasPrefix("58"): .unreadable(path: place, reason: message)
        case (.refused, let state?) where state.hasPrefix("XX0"): .corrupt(path: place, reason: message)
        case (.refused, _): .engine("\(message), in \(place)")
        }
    }
}

extension StoreError {
    /// Converts an error of a statement or of reading its rows.
    init(_ error: any Error, place: String) {
        switch error {
        case let error as StoreError: self = error
        case let error as PGFailure: self = error.storeError(place)
        case is DecodingError, is SQLRow.Unreadable:
            self = .corrupt(path: place, reason: "stored data cannot be read: \(error)")
        default: self = .engine("\(error)")
        }
    }
}
