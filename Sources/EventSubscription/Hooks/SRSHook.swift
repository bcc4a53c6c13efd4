import TextFormats

/// The HTTP callbacks of SRS: `on_publish` and `on_unpublish`; others are allowed and ignored.
///
/// Format: `srs_app_http_hooks.cpp` of `ossrs/srs`, releases 5 to 7. The body is JSON. SRS requires a specific body in
/// the answer: an object whose `code` is the number 0; everything else refuses `on_connect`, `on_publish` and
/// `on_play`. It repeats no call.
package struct SRSHook: EventHook {
    package let name = "srs"

    package init() {}

    package let example = HookRequest(
        method: .post, headers: [.init(name: "content-type", value: "application/json")],
        body: Array(
            #"{"server_id":"vid-k21d7y2","service_id":"9t3k2h8","action":"on_publish","client_id":"9308h583","#.utf8)
            + Array(
                #""ip":"127.0.0.1","vhost":"__defaultVhost__","app":"live","tcUrl":"rtmp://127.0.0.1/live","#.utf8)
            + Array(
                #""stream":"lobby__alice","param":"","stream_url":"/live/lobby__alice","stream_id":"vid-0n9zoz3"}"#.utf8
            )
    )

    /// The virtual host of streams whose host is not configured.
    static let standardHost = "__defaultVhost__"

    package func outcome(of request: HookRequest, reader: HookReader) throws(InputError) -> HookOutcome {
        let document = try HookDocument(parsing: request.body)
        let action = try HookDocument.required(
            document["action"].text, "action", "a callback of SRS, such as \"action\":\"on_publish\"")
        func stream() throws(InputError) -> MediaServerStream {
            let host = document["vhost"].text ?? ""
            return MediaServerStream(
                vhost: host.hasSameUTF8(as: Self.standardHost) ? "" : host, app: document["app"].text ?? "",
                name: try HookDocument.required(document["stream"].text, "stream", "the name of the stream"),
                arguments: HookForm((document["param"].text ?? "").utf8.drop { $0 == UInt8(ascii: "?") }),
                session: document["client_id"].text.map { String($0.prefix(bytes: 64)) })
        }
        return switch action {
        case "on_publish": reader.outcome(action, .decisive, .begins, of: try stream())
        case "on_unpublish": reader.outcome(action, .informative, .ends, of: try stream())
        case "on_connect", "on_play": HookOutcome(call: action, weight: .decisive)
        default: .ignored("other")
        }
    }

    package func answer(_ verdict: HookVerdict, to outcome: HookOutcome?) -> HookAnswer {
        switch verdict {
        case .accepted: HookAnswer(json: #"{"code":0}"#)
        case .refused(let reason): HookAnswer(status: 403, json: Self.body(403, reason))
        case .failed(let reason): HookAnswer(status: 503, json: Self.body(503, reason))
        }
    }

    private static func body(_ code: Int, _ reason: String) -> String {
        #"{"code":\#(code),"msg":\#(HookAnswer.quoted(reason))}"#
    }
}
