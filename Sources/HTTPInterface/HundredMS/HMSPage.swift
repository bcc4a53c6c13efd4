import EventSubscription
import TextFormats

/// One page of a list, as 100ms' SDKs walk through it: they pass `last` as `start` until a page is not full. Pure.
struct HMSPage {
    let document: JSONValue

    /// - Parameters:
    ///   - entries: The whole list.
    ///   - start: Id of the last entry of the page before. With `nil`, or an entry that is gone, the list begins at its
    ///     beginning.
    ///   - view: Called for the entries of the page.
    init<Entry>(
        _ entries: [Entry], _ limit: Int, after start: String?, id: (Entry) -> String, view: (Entry) -> JSONValue
    ) {
        let index = start.flatMap { start in entries.firstIndex { id($0).hasSameUTF8(as: start) } }
        let page = entries.dropFirst(index.map { $0 + 1 } ?? 0).prefix(limit)
        document = .object([
            "limit": .number(Double(limit)), "data": .array(page.map(view)), "last": .string(page.last.map(id) ?? ""),
        ])
    }

    init(_ sessions: [HMSSession], _ limit: Int, after start: String? = nil) {
        self.init(sessions, limit, after: start, id: \.id, view: \.view)
    }
}
