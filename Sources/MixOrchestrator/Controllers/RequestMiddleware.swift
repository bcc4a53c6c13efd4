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
    static var headerName: HTTPField.Name { HTTPField.Name("X-Request-Id") ?? .cacheControl }

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let start = MonotonicClock.now()
        let id = Self.id(request.headers[Self.headerName]) ?? UUID().uuidString.lowercased()
        var context = context
        context.logger[metadataKey: "hb.request.id"] = nil
        context.logger[metadataKey: "request"] = "\(id)"
        var response = try await next(request, context)
        response.headers[Self.headerName] = id

        let duration = MonotonicClock.now() - start
        // Of a fixed set: paths and methods that nobody serves would be labels without end.
        let route = context.endpointPath.map { $0 == "NotFound" ? "none" : "/" + $0.drop { $0 == "/" } } ?? "none"
        let method = Self.methods.contains(request.method) ? request.method.rawValue : "other"
        metrics.count(.httpRequests, method, route, "\(response.status.code / 100)xx")
        metrics.observe(.httpRequest, nanoseconds: duration, route)
        context.logger.debug(
            "\(request.method.rawValue) \(request.uri.path) \(response.status.code)",
            metadata: ["route": "\(route)", "ms": "\(Double(duration / 10_000) / 100)"])
        return response
    }

    private static var methods: Set<HTTPRequest.Method> { [.get, .head, .post, .put, .patch, .delete, .options] }

    /// `nil` for what would not be an id: too long, or of characters that somebody has to quote.
    static func id(_ text: String?) -> String? {
        guard let text, 1...128 ~= text.utf8.count,
            text.utf8.allSatisfy({ byte in
                let character = Character(UnicodeScalar(byte))
                return character.isASCII && (character.isLetter || character.isNumber) || "-_.:/+=@".contains(character)
            })
        else { return nil }
        return text
    }
}
