import EventSubscription
import TextFormats

/// One page of a list, as 100ms' SDKs iterate over it: they pass `last` as `start` until a page is not full. Pure.
struct HMSPage {
    let document: JSONValue

    /// Returns the entries of a page.
    ///
    /// - Parameters:
    ///   - entries: The whole list.
    ///   - start: Id of the last entry of the previous page. With `nil`, or an entry that is gone, the page begins at
    ///     the start of the list.
    static func entries<Entry>(
        of entries: [Entry], _ limit: Int, after start: String?, id: (Entry) -> String
    ) -> [Entry] {
        let index = start.flatMap { start in entries.firstIndex { id($0).hasSameUTF8(as: start) } }
        return Array(entries.dropFirst(index.map { $0 + 1 } ?? 0).prefix(limit))
    }

    /// - Parameter entries: Entries of the page.
    init<Entry>(_ entries: [Entry], _ limit: Int, id: (Entry) -> String, view: (Entry) -> JSONValue) {
        document = .object([
            "limit": .number(Double(limit)), "data": .array(entries.map(view)),
            "last": .string(entries.last.map(id) ?? ""),
        ])
    }

    /// - Parameter pictured: Files for which thumbnails exist.
    init(_ sessions: [HMSSession], _ limit: Int, pictured: Set<String> = []) {
        self.init(sessions, limit, id: \.id) { $0.view(pictured: pictured) }
    }
}
