/// The statistics of nginx with the RTMP module: `rtmp_stat all`, XML.
///
/// Format: `ngx_rtmp_stat_module.c` of `arut/nginx-rtmp-module`. The publisher of a stream is the client with
/// `publishing`; its `id` is the `clientid` of callbacks. Each worker process of nginx knows only its own streams.
package struct NginxRTMPInventory: StreamInventory {
    package let hook = "nginx-rtmp"

    package init() {}

    package func page(_ body: [UInt8], of url: StreamURL) throws(InputError) -> InventoryPage {
        var scanner = XMLScanner(body)
        var path: [String] = []
        var app = ""
        var streams: [MediaServerStream] = []
        var stream = MediaServerStream(app: "", name: "")
        var client: String?
        var (isRTMP, hasApplications, isPublishing) = (false, false, false)
        while let token = try scanner.next() {
            switch token {
            case .start(let name):
                path.append(name)
                switch path.suffix(2) {
                case ["rtmp"]: isRTMP = path.count == 1
                case ["server", "application"]: (app, hasApplications) = ("", true)
                case ["live", "stream"]: (stream, isPublishing) = (MediaServerStream(app: app, name: nil), false)
                case ["stream", "client"]: client = nil
                case ["client", "publishing"]: (stream.session, isPublishing) = (client, true)
                default: break
                }
            case .text(let text):
                switch path.suffix(2) {
                case ["application", "name"]: app = text
                case ["stream", "name"]: stream.name = text
                case ["client", "id"]: client = text
                default: break
                }
            case .end:
                if path.suffix(2) == ["live", "stream"], isPublishing {
                    stream.app = app
                    streams.append(stream)
                }
                path.removeLast()
            }
        }
        guard isRTMP, hasApplications else {
            throw InputError(
                .invalidField, field: "", found: "no applications", expected: "nginx's statistics, by `rtmp_stat all;`")
        }
        return InventoryPage(streams: streams)
    }
}
