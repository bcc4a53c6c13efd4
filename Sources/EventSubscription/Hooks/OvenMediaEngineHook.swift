import MixModel
import TextFormats

/// The admission webhooks of OvenMediaEngine: `opening` and `closing` of incoming streams; viewers are always admitted.
///
/// Format: `docs/access-control/admission-webhooks.md` of `OvenMediaLabs/OvenMediaEngine`. The body is signed:
/// `X-OME-Signature` is the HMAC-SHA1 in URL-safe Base64 (RFC 4648 §5). The server expects JSON with `allowed` for an
/// opening and `{}` for a closing, within the time of its setting `Timeout`. It repeats nothing.
package struct OvenMediaEngineHook: EventHook {
    package let name = "ovenmediaengine"
    package let signsBody = true

    package init() {}

    package let example = HookRequest(
        method: .post, headers: [.init(name: "content-type", value: "application/json")],
        body: Array(
            #"{"client":{"address":"211.233.58.86","port":29291,"real_ip":"192.0.2.7","user_agent":"OBS"},"#.utf8)
            + Array(#""request":{"direction":"incoming","protocol":"rtmp","status":"opening","#.utf8)
            + Array(
                #""url":"rtmp://127.0.0.1:1935/app/lobby__alice","time":"2026-01-31T12:00:00.000+00:00"}}"#.utf8))

    package func isAuthentic(_ request: HookRequest, secret: HookSecret) -> Bool {
        guard let sign = request.header("x-ome-signature").flatMap({ HookBase64.decodedForURLs($0) }) else {
            return false
        }
        return HookSignature.areEqual(sign, HookSignature.hmac(.sha1, of: request.body, key: secret))
    }

    package func outcome(of request: HookRequest, reader: HookReader) throws(InputError) -> HookOutcome {
        let document = try HookDocument(parsing: request.body)
        let call = document["request"]
        guard call.exists else { return .ignored("other") }
        let status = try HookDocument.required(call["status"].text, "request.status", "opening or closing")
        guard status == "opening" || status == "closing" else { return .ignored("other") }
        guard call["direction"].text == "incoming" else {
            return HookOutcome(call: status, weight: status == "opening" ? .decisive : .informative)
        }
        let url = try HookDocument.required(call["url"].text, "request.url", "the URL of the stream")
        guard let stream = Self.stream(url, client: document["client"]) else {
            return HookOutcome(
                call: status, weight: status == "opening" ? .decisive : .informative,
                unmatched: "the URL has no application and stream")
        }
        return status == "opening"
            ? reader.outcome(status, .decisive, .begins, of: stream)
            : reader.outcome(status, .informative, .ends, of: stream)
    }

    package func answer(_ verdict: HookVerdict, to outcome: HookOutcome?) -> HookAnswer {
        switch verdict {
        case .accepted where outcome?.call == "closing": HookAnswer(json: "{}")
        case .accepted: HookAnswer(json: #"{"allowed":true}"#)
        case .refused(let reason), .failed(let reason):
            HookAnswer(json: #"{"allowed":false,"reason":\#(HookAnswer.quoted(reason))}"#)
        }
    }

    /// Returns the stream at a URL `scheme://host[:port]/application/stream[/…][?arguments]`.
    private static func stream(_ url: String, client: HookDocument) -> MediaServerStream? {
        guard let scheme = url.firstRange(of: "://") else { return nil }
        let rest = url[scheme.upperBound...].utf8
        let query = rest.firstIndex(of: UInt8(ascii: "?")) ?? rest.endIndex
        let parts = rest[..<query].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: true)
        guard parts.count >= 3 else { return nil }
        let host = parts[0].prefix { $0 != UInt8(ascii: ":") }
        let session = client["port"].integer.map { "\(client["address"].text ?? ""):\($0)" }
        return MediaServerStream(
            vhost: String(Substring(host)), app: decoded(parts[1]) ?? "", name: decoded(parts[2]),
            arguments: HookForm(rest[query...].dropFirst()), session: session.map { String($0.prefix(bytes: 64)) })
    }

    private static func decoded(_ part: Substring.UTF8View) -> String? {
        // In a path, a plus sign does not mean a space.
        let part = part.flatMap { $0 == UInt8(ascii: "+") ? Array("%2B".utf8) : [$0] }
        return String(validating: PercentEncoding.formDecodedBytes(part), as: UTF8.self)
    }
}
