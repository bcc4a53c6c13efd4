import Foundation
import HTTPTypes
import Hummingbird
import Logging
import MixModel

/// Gives every request an id that its answer and its lines in the log share, and measures it. The outermost middleware.
///
/// `X-Request-Id` of the request is kept where it is one; otherwise a new one is made.
struct RequestMiddleware<Context: RequestContext>: RouterMiddleware {
    let metrics: Metrics

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let start = MonotonicClock.now()
        let id = Self.id(request.headers[.requestID]) ?? Self.newID()
        var context = context
        context.logger[metadataKey: "hb.request.id"] = nil
        context.logger[metadataKey: "request"] = "\(id)"
        var response = try await next(request, context)
        response.headers[.requestID] = id

        let duration = MonotonicClock.now() - start
        // Of a fixed set: paths and methods that nobody serves would be labels without end.
        let route = context.endpointPath.map { $0 == "NotFound" ? "none" : "/" + $0.drop { $0 == "/" } } ?? "none"
        let method = knownMethods.contains(request.method) ? request.method.rawValue : "other"
        metrics.count(.httpRequests, method, route, "\(response.status.code / 100)xx")
        metrics.observe(.httpRequest, nanoseconds: duration, route)
        context.logger.debug(
            "\(request.method.rawValue) \(request.uri.path) \(response.status.code)",
            metadata: ["route": "\(route)", "ms": "\(Double(duration / 10_000) / 100)"])
        return response
    }

    /// 128 random bits in hexadecimal.
    private static func newID() -> String {
        let digits = String(UInt128.random(in: 0 ... .max), radix: 16)
        return String(repeating: "0", count: 32 - digits.utf8.count) + digits
    }

    /// `nil` for what would not be an id: too long, or of characters that somebody has to quote.
    static func id(_ text: String?) -> String? {
        guard let text, 1...128 ~= text.utf8.count,
            text.utf8.allSatisfy({ byte in
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
                    || "-_.:/+=@".utf8.contains(byte)
            })
        else { return nil }
        return text
    }
}

private let knownMethods: Set<HTTPRequest.Method> = [.get, .head, .post, .put, .patch, .delete, .options]

extension HTTPField.Name {
    /// Made once: looking at the characters of a name for each request costs more than the request's id.
    static let requestID = HTTPField.Name("X-Request-Id") ?? .cacheControl
}
