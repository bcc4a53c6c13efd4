import TextFormats

/// The streams of SRS: `/api/v1/streams/` of its HTTP API, a page at a time.
///
/// Format: `srs_app_http_api.cpp` and `srs_app_statistic.cpp` of `ossrs/srs`. `publish.cid` is the `client_id` of callbacks. `url` is
/// `/app/stream`, with the virtual host before it unless that is the standard one.
package struct SRSInventory: StreamInventory {
    package let hook = "srs"

    package init() {}

    /// Number of streams per page. SRS lists 10 by default.
    static let pageSize = 100

    package func url(ofPage page: Int, of url: StreamURL) -> String {
        let text = self.url(url, with: "start=\(page * Self.pageSize)&count=\(Self.pageSize)")
        // SRS redirects the path without a trailing slash, and redirects are not followed.
        guard !url.path.utf8.reversed().starts(with: [UInt8(ascii: "/")]), let query = text.firstIndex(of: "?") else {
            return text
        }
        return "\(text[..<query])/\(text[query...])"
    }

    package func page(_ body: [UInt8], of url: StreamURL) throws(InputError) -> InventoryPage {
        let document = try HookDocument(parsing: body)
        guard document["code"].integer == 0, document["streams"].exists else {
            throw InputError(
                .invalidField, field: "code", found: document["code"].integer.map { "\($0)" },
                expected: "streams of SRS's /api/v1/streams")
        }
        let all = document["streams"].elements
        let streams = all.filter { $0["publish"]["active"].boolean == true }.map { stream in
            MediaServerStream(
                vhost: Self.host(of: stream["url"].text ?? ""), app: stream["app"].text ?? "",
                name: stream["name"].text,
                session: stream["publish"]["cid"].text.map { String($0.prefix(bytes: 64)) })
        }
        return InventoryPage(streams: streams, isLast: all.count < Self.pageSize)
    }

    /// Returns the virtual host before `/app/stream`; empty for the standard one.
    private static func host(of url: String) -> String {
        let host = url.utf8.prefix { $0 != UInt8(ascii: "/") }
        return String(Substring(host))
    }
}
