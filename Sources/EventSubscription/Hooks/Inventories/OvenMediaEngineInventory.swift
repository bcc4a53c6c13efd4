import TextFormats

/// The streams of one application of OvenMediaEngine: `/v1/vhosts/{vhost}/apps/{app}/streams` of its REST API.
///
/// Format: `docs/rest-api/v1/virtualhost/application/stream` of `OvenMediaLabs/OvenMediaEngine`: names only. The
/// application is part of the URL.
package struct OvenMediaEngineInventory: StreamInventory {
    package let hook = "ovenmediaengine"

    package init() {}

    package func page(_ body: [UInt8], of url: StreamURL) throws(InputError) -> InventoryPage {
        let parts = url.path.split(separator: "/").map { String($0) }
        guard let place = parts.firstIndex(of: "apps"), place + 2 < parts.count, parts[place + 2] == "streams" else {
            throw InputError(
                .invalidField, field: "poll",
                expected: "a URL as http://127.0.0.1:8081/v1/vhosts/default/apps/app/streams")
        }
        let document = try HookDocument(parsing: body)
        guard document["statusCode"].integer == 200, document["response"].exists else {
            throw InputError(
                .invalidField, field: "statusCode", found: document["statusCode"].integer.map { "\($0)" },
                expected: "200 with the application's streams")
        }
        return InventoryPage(
            streams: document["response"].elements.compactMap(\.text).map { name in
                MediaServerStream(app: parts[place + 1], name: name)
            })
    }
}
