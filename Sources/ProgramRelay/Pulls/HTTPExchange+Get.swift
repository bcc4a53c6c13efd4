import RTMP
import TextFormats

extension HTTPExchange {
    /// Fetches a resource, and follows redirects, each of which is judged as the first address is.
    ///
    /// - Parameters:
    ///   - limit: Most bytes.
    ///   - range: The bytes of the resource that are wanted; `nil` = all.
    ///   - what: The resource in words.
    ///   - connections: Connections that are used, and kept for further requests; `nil` = one for each request.
    ///   - timeout: Most seconds for connecting, and without any byte.
    /// - Returns: The response, and the URL that it came from.
    static func get(
        _ url: String, limits: Destination.Limits?, limit: Int, range: Range<Int64>? = nil, _ what: String,
        _ redaction: URLRedaction, connections: HTTPConnections? = nil, timeout: Int = 5
    ) async throws(PullEnd) -> (response: HTTPResponse, url: String) {
        var url = url
        for _ in 0...HTTPRedirect.most {
            let exchange = try HTTPExchange(
                url, limits: limits, trust: nil, timeout: timeout, extent: .body(limit: limit), range: range,
                connections: connections)
            switch await exchange.run() {
            case .failure(let fault): throw PullEnd(fault, redaction)
            case .success(let response) where response.status == (range == nil ? 200 : 206):
                return (response, url)
            case .success(let response) where response.status == 200:
                throw PullEnd(.unsupportedCodec, "the playlist wants ranges of bytes, which the server does not send")
            case .success(let response):
                guard let location = HTTPRedirect.location(in: response) else {
                    throw PullEnd(.refused, "the server answers \(response.status) for \(what)")
                }
                guard let next = HTTPRedirect.resolve(location, against: url) else {
                    throw PullEnd(.protocolViolation, "the server redirects to an address that is not one of HTTP")
                }
                url = next
            }
        }
        throw PullEnd(.refused, "the server redirects more than \(HTTPRedirect.most) times")
    }
}
