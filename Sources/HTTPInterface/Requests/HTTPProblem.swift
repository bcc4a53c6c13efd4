import EventSubscription
import HTTPTypes
import LayoutEngine
import MixModel
import NIOCore
import RoomService

/// The error answer of an API call, as RFC 9457 problem details.
///
/// Errors of the service become one with `init(_:)`. Errors that exist only in HTTP, such as a method that a path does
/// not have, are thrown as one.
struct HTTPProblem: Error, Hashable, Sendable {
    var status: HTTPResponse.Status
    /// Stable identifier of the problem, whose `type` is `urn:mixorchestrator:problem:{code}`.
    var code: String
    var title: String
    var detail: String
    /// JSON path of the field at fault, or the name of the header.
    var field: String?
    var expected: String?
    /// All errors of a layout.
    var issues: [LayoutIssue]?
    /// Checks made for `/readyz`.
    var checks: [Readiness.Check]?
    /// Header fields of the answer.
    var headers: HTTPFields
    /// Refusal that states what the machine lacks.
    var refusal: AdmissionRefusal?
    /// Quota that the app has used up.
    var quota: OrchestratorError.Quota?

    init(
        _ status: HTTPResponse.Status, _ code: String, _ title: String, detail: String, field: String? = nil,
        expected: String? = nil, checks: [Readiness.Check]? = nil, headers: HTTPFields = [:]
    ) {
        self.status = status
        self.code = code
        self.title = title
        self.detail = detail.shortened(toBytes: OrchestratorError.longestDetail)
        self.field = field?.shortened(toBytes: OrchestratorError.longestField)
        self.expected = expected
        self.checks = checks
        self.headers = headers
    }

    /// Creates the answer to a request that the service refuses.
    init(_ error: OrchestratorError) {
        self.init(
            HTTPResponse.Status(error.kind), error.code, error.title, detail: error.detail, field: error.field,
            expected: error.expected)
        issues = error.issues
        refusal = error.refusal
        quota = error.quota
        if let seconds = error.retryAfter { headers[.retryAfter] = "\(seconds)" }
        if let tag = error.currentTag { headers[.eTag] = tag.text }
    }

    static func methodNotAllowed(_ method: String, _ path: String, allowed: String) -> HTTPProblem {
        HTTPProblem(
            .methodNotAllowed, "method-not-allowed", "The path does not support this method",
            detail: "\(method) \(path.shortened(toBytes: InputError.longestQuote))", expected: allowed,
            headers: [.allow: allowed])
    }

    static func bodyTooLarge(_ limit: Int) -> HTTPProblem {
        HTTPProblem(
            .contentTooLarge, "body-too-large", "The body is too large",
            detail: "at most \(limit) bytes are accepted here")
    }

    /// Answer to a body with broken HTTP framing. The start of the next request is unknown, so the connection is
    /// closed.
    static let malformedBody = HTTPProblem(
        .badRequest, "malformed-body", "The body is not valid HTTP",
        detail: "a chunk size is not a hexadecimal number, or the body ended too early",
        expected: "RFC 9112, chapter 7", headers: [.connection: "close"])
}

extension HTTPProblem {
    static let twoHosts = HTTPProblem(
        .badRequest, "two-hosts", "The request names two hosts", detail: "there are several Host headers: send one")

    private struct Document: Encodable {
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

    /// The body of the answer, `application/problem+json`.
    var document: ByteBuffer {
        jsonBytes(
            Document(
                type: "urn:mixorchestrator:problem:\(code)", title: title, status: status.code, detail: detail,
                field: field, expected: expected, issues: issues, checks: checks, neededCores: refusal?.neededCores,
                availableCores: refusal?.availableCores, quota: quota?.name.rawValue, limit: quota?.limit))
    }
}

extension HTTPResponse.Status {
    /// Creates the status of an answer to an error of the service.
    fileprivate init(_ kind: OrchestratorError.Kind) {
        self =
            switch kind {
            case .malformed: .badRequest
            case .invalid: .unprocessableContent
            case .unacceptable: .notAcceptable
            case .forbidden: .forbidden
            case .notFound: .notFound
            case .conflict: .conflict
            case .outdated: .preconditionFailed
            case .exhausted: .tooManyRequests
            case .unavailable: .serviceUnavailable
            case .failed: .internalServerError
            }
    }
}

extension HTTPFields {
    /// Whether there is a second `Host` header. The first one is the request's `authority`.
    var hasHost: Bool { contains { $0.name.canonicalName == "host" } }
}
