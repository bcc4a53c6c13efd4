import EventSubscription
import Foundation
import Hummingbird
import LayoutEngine
import MixModel
import NIOCore
import NIOHTTP1
import TaskStore

/// Turns every error into RFC 9457 `application/problem+json`; the one place where errors get their HTTP status.
struct ProblemMiddleware<Context: RequestContext>: RouterMiddleware {
    /// What each path serves.
    let methods: MethodTable

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch {
            let problem = problem(for: error, request)
            // A preflight, or somebody who asks what is here.
            if request.method == .options, let allowed = problem.headers[.allow] {
                return Response(status: .noContent, headers: [.allow: allowed])
            }
            // Who asks whether it is ready every second shall not fill the log.
            if problem.status.kind == .serverError, problem.checks == nil {
                context.logger.error("\(problem.code): \(problem.detail)")
            }
            let response = Self.response(problem)
            // RFC 9110, 9.3.2: a body here would be taken for the beginning of the next answer.
            return request.method == .head ? response.createHeadResponse() : response
        }
    }

    private func problem(for error: any Error, _ request: Request) -> OrchestratorError {
        switch error {
        case let error as OrchestratorError: return error
        case let error as InputError: return OrchestratorError(error)
        case let error as StoreError: return OrchestratorError(error)
        case let error as LayoutError: return OrchestratorError(error)
        case let error as HTTPError where error.status == .notFound:
            let method = request.method.rawValue
            if let allowed = methods.allowed(request.uri.path),
                !allowed.split(separator: ", ").contains(method[...])
                    || request.method == .options
            {
                return .methodNotAllowed(method, request.uri.path, allowed: allowed)
            }
            return OrchestratorError(
                .notFound, "not-found", "There is nothing here",
                detail: "\(method) \(request.uri.path.shortened(toBytes: InputError.longestQuote))")
        case is HTTPParserError: return .malformedBody
        case let error as HTTPError:
            return OrchestratorError(error.status, "http", "The request cannot be served", detail: error.body ?? "")
        default:
            // Unknown errors may hold anything, URLs too: they are named by type only.
            return OrchestratorError(
                .internalServerError, "internal", "Something went wrong here", detail: "\(type(of: error))")
        }
    }

    private struct Body: Encodable {
        var type: String
        var title: String
        var status: Int
        var detail: String
        var field: String?
        var expected: String?
        var issues: [LayoutIssue]?
        var checks: [Readiness.Check]?
        var neededCores: Double?
        var availableCores: Double?
        var quota: String?
        var limit: Int?
    }

    static func response(_ problem: OrchestratorError) -> Response {
        let body = Body(
            type: "urn:mixorchestrator:problem:\(problem.code)", title: problem.title, status: problem.status.code,
            detail: problem.detail, field: problem.field, expected: problem.expected, issues: problem.issues,
            checks: problem.checks, neededCores: problem.refusal?.neededCores,
            availableCores: problem.refusal?.availableCores, quota: problem.quota?.name.rawValue,
            limit: problem.quota?.limit)
        var headers = problem.headers
        headers[.contentType] = "application/problem+json"
        if problem.status == .serviceUnavailable, headers[.retryAfter] == nil { headers[.retryAfter] = "1" }
        return Response(status: problem.status, headers: headers, body: ResponseBody(byteBuffer: jsonBytes(body)))
    }
}

enum BodyLimit {
    /// Largest request body, in bytes.
    static let bytes = 1 << 20
}

/// Keys sorted, slashes plain, times as ISO 8601: the same value gives the same bytes.
func jsonBytes(_ value: some Encodable) -> ByteBuffer {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .custom { date, encoder in
        var container = encoder.singleValueContainer()
        try container.encode(date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
    }
    do {
        return ByteBuffer(bytes: try encoder.encode(value))
    } catch {
        // Answers hold strings, integers and finite numbers; only a number that is not finite could get here.
        return ByteBuffer(string: "{}")
    }
}

func jsonResponse(_ value: some Encodable, status: HTTPResponse.Status = .ok) -> Response {
    Response(
        status: status, headers: [.contentType: "application/json"],
        body: ResponseBody(byteBuffer: jsonBytes(value)))
}

extension Request {
    /// The body as JSON, at most `BodyLimit.bytes`.
    func json() async throws -> JSONValue {
        try JSONValue(parsing: try await bytes())
    }

    /// The whole body.
    ///
    /// - Throws: `OrchestratorError` when it is longer than `limit`.
    func bytes(upTo limit: Int = BodyLimit.bytes) async throws -> [UInt8] {
        do {
            return Array(try await body.collect(upTo: limit).readableBytesView)
        } catch is NIOTooManyBytesError {
            throw OrchestratorError.bodyTooLarge(limit)
        }
    }
}

extension RequestContext {
    /// A part of the path, percent-decoded and checked: the name of something that is there, however it is spelt.
    func identifier(_ name: String, longest: Int = EventParser.longestIdentifier) throws -> String {
        let text = try parameters.require(name)
        return try EventParser.knownIdentifier(text.removingPercentEncoding ?? text, field: name, longest: longest)
    }

    /// A part of the path, percent-decoded and checked: the name of something that may be made.
    func newIdentifier(_ name: String) throws -> String {
        let text = try parameters.require(name)
        return try EventParser.identifier(text.removingPercentEncoding ?? text, field: name)
    }
}
