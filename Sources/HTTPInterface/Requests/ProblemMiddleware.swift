import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import LayoutEngine
import NIOCore
import NIOHTTP1
import RoomService
import TaskStore
import TextFormats

/// The form of one interface's errors, used instead of problem details.
package struct ProblemForm: Sendable {
    /// First part of the paths, as in `/v2`.
    let prefix: String
    let response: @Sendable (HTTPProblem) -> Response

    init(prefix: String, response: @escaping @Sendable (HTTPProblem) -> Response) {
        self.prefix = prefix
        self.response = response
    }

    func takes(_ path: String) -> Bool {
        let rest = path.utf8.dropFirst(prefix.utf8.count)
        return path.startsInUTF8(with: prefix) && (rest.isEmpty || rest.first == UInt8(ascii: "/"))
    }
}

/// Turns every error into RFC 9457 `application/problem+json`, or into the form of the interface that was called.
package struct ProblemMiddleware<Context: RequestContext>: RouterMiddleware {
    /// The methods of each path.
    let methods: MethodTable
    private let forms: [ProblemForm]

    package init(methods: MethodTable, forms: [ProblemForm] = []) {
        self.methods = methods
        self.forms = forms
    }

    package func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch {
            let problem = problem(for: error, request)
            // A CORS preflight, or a client that asks for the path's methods.
            if request.method == .options, let allowed = problem.headers[.allow] {
                return Response(status: .noContent, headers: [.allow: allowed])
            }
            // A readiness probe every second must not fill the log.
            if problem.status.kind == .serverError, problem.checks == nil {
                context.logger.error("\(problem.code): \(problem.detail)")
            }
            let response = response(problem, to: request.uri.path)
            // RFC 9110, 9.3.2: the client would take a body for the beginning of the next answer.
            return request.method == .head ? response.createHeadResponse() : response
        }
    }

    private func problem(for error: any Error, _ request: Request) -> HTTPProblem {
        switch error {
        case let error as HTTPProblem: return error
        case let error as OrchestratorError: return HTTPProblem(error)
        case let error as InputError: return HTTPProblem(OrchestratorError(error))
        case let error as StoreError: return HTTPProblem(OrchestratorError(error))
        case let error as LayoutError: return HTTPProblem(OrchestratorError(error))
        case let error as HTTPError where error.status == .notFound:
            let method = request.method.rawValue
            if let allowed = methods.allowed(request.uri.path),
                !allowed.split(separator: ", ").contains(method[...])
                    || request.method == .options
            {
                return .methodNotAllowed(method, request.uri.path, allowed: allowed)
            }
            return HTTPProblem(
                .notFound, "not-found", "Not found",
                detail: "\(method) \(request.uri.path.shortened(toBytes: InputError.longestQuote))")
        case is HTTPParserError: return .malformedBody
        case let error as HTTPError:
            return HTTPProblem(error.status, "http", "The request cannot be served", detail: error.body ?? "")
        default:
            // Unknown errors may contain anything, including URLs, so only their type is shown.
            return HTTPProblem(
                .internalServerError, "internal", "Internal error", detail: "\(type(of: error))")
        }
    }

    private func response(_ problem: HTTPProblem, to path: String) -> Response {
        guard let form = forms.first(where: { $0.takes(path) }) else { return Self.response(problem) }
        var response = form.response(problem)
        for field in problem.headers where response.headers[field.name] == nil { response.headers.append(field) }
        return response
    }

    static func response(_ problem: HTTPProblem) -> Response {
        var headers = problem.headers
        headers[.contentType] = "application/problem+json"
        if problem.status == .serviceUnavailable, headers[.retryAfter] == nil { headers[.retryAfter] = "1" }
        return Response(status: problem.status, headers: headers, body: ResponseBody(byteBuffer: problem.document))
    }
}

enum BodyLimit {
    /// Maximum size of a request body, in bytes.
    static let bytes = 1 << 20
}

func jsonResponse(_ value: some Encodable, status: HTTPResponse.Status = .ok) -> Response {
    Response(
        status: status, headers: [.contentType: "application/json"],
        body: ResponseBody(byteBuffer: jsonBytes(value)))
}

extension Request {
    /// Reads the body as JSON of at most `BodyLimit.bytes` bytes.
    func json() async throws -> JSONValue {
        try JSONValue(parsing: try await bytes())
    }

    /// Reads the whole body.
    ///
    /// - Throws: `HTTPProblem` if the body is longer than `limit` bytes.
    func bytes(upTo limit: Int = BodyLimit.bytes) async throws -> [UInt8] {
        do {
            return Array(try await body.collect(upTo: limit).readableBytesView)
        } catch is NIOTooManyBytesError {
            throw HTTPProblem.bodyTooLarge(limit)
        }
    }
}

extension RequestContext {
    /// Returns a part of the path, percent-decoded and checked, as the name of an existing object in any spelling.
    ///
    /// Not inlined: Swift 6.3's optimiser crashes on several of them in one asynchronous function.
    @inline(never)
    func identifier(_ name: String, longest: Int = EventParser.longestIdentifier) throws -> String {
        let text = try parameters.require(name)
        return try EventParser.knownIdentifier(text.removingPercentEncoding ?? text, field: name, longest: longest)
    }

    /// Returns a part of the path, percent-decoded and checked, as the name of an object that the request may create.
    ///
    /// Not inlined, like `identifier(_:longest:)`.
    @inline(never)
    func newIdentifier(_ name: String) throws -> String {
        let text = try parameters.require(name)
        return try EventParser.identifier(text.removingPercentEncoding ?? text, field: name)
    }
}
