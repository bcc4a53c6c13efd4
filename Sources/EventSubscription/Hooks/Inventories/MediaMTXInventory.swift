import TextFormats

/// The paths of MediaMTX: `/v3/paths/list` of its API, a page at a time.
///
/// Format: `internal/defs` of `bluenviron/mediamtx`. A path counts while it is `ready`; `source.id` is `MTX_SOURCE_ID` of commands.
package struct MediaMTXInventory: StreamInventory {
    package let hook = "mediamtx"

    package init() {}

    static let pageSize = 100

    package func url(ofPage page: Int, of url: StreamURL) -> String {
        self.url(url, with: "page=\(page)&itemsPerPage=\(Self.pageSize)")
    }

    package func page(_ body: [UInt8], of url: StreamURL) throws(InputError) -> InventoryPage {
        let document = try HookDocument(parsing: body)
        guard let pages = document["pageCount"].integer, document["items"].exists else {
            throw InputError(
                .missingField, field: "items", expected: "paths of MediaMTX's /v3/paths/list")
        }
        let all = document["items"].elements
        let streams = all.filter { ($0["ready"].boolean ?? $0["available"].boolean) == true }.compactMap { path in
            MediaMTXHook.stream(
                path["name"].text ?? "", query: "",
                session: path["source"]["id"].text.map { String($0.prefix(bytes: 64)) })
        }
        return InventoryPage(streams: streams, isLast: all.count < Self.pageSize || pages <= 1)
    }
}
