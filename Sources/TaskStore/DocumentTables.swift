/// The tables whose unreadable documents are set aside. Unreadable rows of the others, which are logs, stay in place and are
/// skipped.
package enum DocumentTables {
    private static let keys = [
        "rooms": ["id"], "tasks": ["id"], "subscriptions": ["id"], "layout_versions": ["layout", "number"],
    ]

    /// Returns the columns that identify a row; in tables without documents this is the number.
    package static func key(of table: String) -> [String] { keys[table] ?? ["number"] }

    package static func contains(_ table: String) -> Bool { keys[table] != nil }

    /// Returns the reason why a row cannot be read. Limited, so that it quotes only a little of the document.
    package static func reason(_ error: any Error) -> String {
        String(decoding: "\(error)".utf8.prefix(300), as: UTF8.self)
    }
}
