import TextFormats

/// The callbacks of nginx with the RTMP module: `on_publish`, `on_publish_done`, `on_done`, `on_update`; others are allowed
/// and ignored.
///
/// Format: `ngx_rtmp_notify_module.c` and `ngx_rtmp_netcall_module.c` of `arut/nginx-rtmp-module`. Fields are a form,
/// in the body or, with `notify_method get`, in the query. The module appends its own `?` to the URL that it calls, so
/// with GET the secret must be in the path.
package struct NginxRTMPHook: EventHook {
    package let name = "nginx-rtmp"
    package let methods: Set<HookRequest.Method> = [.get, .post]

    package init() {}

    package let example = HookRequest(
        method: .post,
        headers: [.init(name: "content-type", value: "application/x-www-form-urlencoded")],
        body: Array(
            ("app=live&flashver=FMLE/3.0&swfurl=&tcurl=rtmp://127.0.0.1/live&pageurl=&addr=127.0.0.1&clientid=1"
                + "&call=publish&name=lobby__alice&type=live").utf8))

    package func outcome(of request: HookRequest, reader: HookReader) throws(InputError) -> HookOutcome {
        let form = request.method == .get ? HookForm(request.query.utf8) : HookForm(request.body)
        guard let call = form.first("call") else {
            throw InputError(
                .missingField, field: "call", expected: "a callback of nginx-rtmp, such as call=publish&name=…")
        }
        func stream() throws(InputError) -> MediaServerStream {
            guard form.has("name") else {
                throw InputError(.missingField, field: "name", expected: "the name of the stream")
            }
            return MediaServerStream(
                app: form.first("app") ?? "", name: form.first("name"), arguments: form,
                session: form.first("clientid").map { String($0.prefix(bytes: 32)) })
        }
        return switch call {
        case "publish": reader.outcome(call, .decisive, .begins, of: try stream())
        case "update_publish": reader.outcome(call, .fragile, .continues, of: try stream())
        case "publish_done": reader.outcome(call, .informative, .ends, of: try stream())
        // Follows `publish_done`, but also `play_done`, with the same fields.
        case "done" where form.has("name"): reader.outcome(call, .informative, .mayEnd, of: try stream())
        case "update_play", "update": HookOutcome(call: call, weight: .fragile)
        case "connect", "play": HookOutcome(call: call, weight: .decisive)
        default: .ignored("other")
        }
    }
}
