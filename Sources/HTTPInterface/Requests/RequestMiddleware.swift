import EncodedMedia
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import RoomService
import Synchronization

/// Gives every request an id, which its answer and its log lines share, and measures it.
///
/// This is the outermost middleware. A valid `X-Request-Id` of the request is kept. Otherwise a new id is created.
package struct RequestMiddleware<Context: RequestContext>: RouterMiddleware {
    let metrics: Metrics

    package init(metrics: Metrics) {
        self.metrics = metrics
    }

    package func handle(
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
        let method = knownMethods.contains(request.method) ? request.method.rawValue : "other"
        metrics.request(method, context.endpointPath, status: response.status.code, duration: duration)
        // The path of a hook may end with its secret, and any client that knows the path of a session may end the
        // session.
        let isSecret = [HookPath.prefix, WebRTCPath.publishers, WebRTCPath.viewers].contains {
            request.uri.path.startsInUTF8(with: $0)
        }
        let path = isSecret ? Metrics.route(context.endpointPath) : request.uri.path.shortened(toBytes: 256)
        context.logger.debug(
            "\(request.method.rawValue) \(path) \(response.status.code)",
            metadata: [
                "route": "\(Metrics.route(context.endpointPath))", "ms": "\(Double(duration / 10_000) / 100)",
            ])
        return response
    }

    /// Returns an id that is unique across all runs of the service. `UUID()` would open a device file for each id.
    static func newID() -> String {
        let number = requests.add(1, ordering: .relaxed).newValue
        return "\(runID)-\(String(number, radix: 36))"
    }

    /// Returns the text if it is a valid id: at most 128 bytes, none of which needs quoting.
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

private let runID = String(UInt64.random(in: .min ... .max), radix: 36)
private let requests = Atomic<UInt64>(0)
private let knownMethods: Set<HTTPRequest.Method> = [.get, .head, .post, .put, .patch, .delete, .options]

extension HTTPField.Name {
    /// A constant, because validating the characters of a name for each request costs more than creating the request's
    /// id.
    static let requestID = HTTPField.Name("X-Request-Id") ?? .cacheControl
}
