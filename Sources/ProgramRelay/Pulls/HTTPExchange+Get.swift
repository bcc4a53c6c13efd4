import RTMP
import TextFormats

extension HTTPExchange {
    /// Fetches a resource, and follows redirects, each of which is checked like the first address.
    ///
    /// - Parameters:
    ///   - limit: Largest size in bytes.
    ///   - range: The requested bytes of the resource; `nil` requests all.
    ///   - what: Description of the resource.
    ///   - connections: Connections to use, and to keep for further requests; `nil` uses a new one for each request.
    ///   - timeout: Longest time in seconds for connecting, and without any byte.
    /// - Returns: The response, and the URL from which it came.
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
