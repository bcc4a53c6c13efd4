import TextFormats

/// The statistics of one kind of media server: its current streams.
///
/// Servers that do not repeat failed calls are queried after a start of the service and periodically, so that events
/// whose reports failed become known. Add an inventory with one file and one line in `StreamInventories.all`.
package protocol StreamInventory: Sendable {
    /// Name of the hook whose streams are listed.
    var hook: String { get }

    /// Returns the URL of a page of the list, from 0.
    ///
    /// - Parameter url: The URL in the configuration.
    func url(ofPage page: Int, of url: StreamURL) -> String

    /// Parses a page. Streams that are listed without a publisher are left out.
    ///
    /// - Parameter url: The URL in the configuration.
    /// - Throws: `InputError` for an answer that is not a list, so that no participant is removed because of it.
    func page(_ body: [UInt8], of url: StreamURL) throws(InputError) -> InventoryPage
}

extension StreamInventory {
    package func url(ofPage page: Int, of url: StreamURL) -> String { url.text }

    /// Returns the URL with a page's arguments appended to its own.
    func url(_ url: StreamURL, with arguments: String) -> String {
        "\(url.text)\(url.query == nil ? "?" : "&")\(arguments)"
    }
}

/// A page of a media server's streams.
package struct InventoryPage: Hashable, Sendable {
    package var streams: [MediaServerStream]
    /// Whether this is the last page.
    package var isLast: Bool

    package init(streams: [MediaServerStream], isLast: Bool = true) {
        self.streams = streams
        self.isLast = isLast
    }
}

/// The kinds of media servers whose streams can be queried.
package enum StreamInventories {
    /// All inventories. A new one is added here and nowhere else.
    package static let all: [any StreamInventory] = [
        NginxRTMPInventory(),
        SRSInventory(),
        MediaMTXInventory(),
        OvenMediaEngineInventory(),
    ]

    /// Returns the inventory of a hook's servers, if there is one.
    package static func of(_ hook: String) -> (any StreamInventory)? { all.first { $0.hook.hasSameUTF8(as: hook) } }
}
