import EventSubscription
import HTTPTypes
import LayoutEngine
import MixModel
import TaskStore

/// The error answer of an API call, as RFC 9457 problem details.
struct OrchestratorError: Error, Hashable, Sendable {
    var status: HTTPResponse.Status
    /// Stable identifier of the problem, whose `type` is `urn:mixorchestrator:problem:{code}`.
    var code: String
    var title: String
    var detail: String
    /// JSON path of the field at fault.
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
    var quota: Quota?

    /// Longest detail, in bytes of UTF-8. All errors of a layout together may be longer; `issues` holds them.
    static let longestDetail = 4096
    static let longestField = 256

    init(
        _ status: HTTPResponse.Status, _ code: String, _ title: String, detail: String, field: String? = nil,
        expected: String? = nil, issues: [LayoutIssue]? = nil, checks: [Readiness.Check]? = nil,
        headers: HTTPFields = [:]
    ) {
        self.status = status
        self.code = code
        self.title = title
        // Shortened here, so that code which quotes paths and names need not limit their length.
        self.detail = detail.shortened(toBytes: Self.longestDetail)
        self.field = field?.shortened(toBytes: Self.longestField)
        self.expected = expected
        self.issues = issues
        self.checks = checks
        self.headers = headers
    }

    init(_ error: InputError) {
        let status: HTTPResponse.Status =
            switch error.code {
            case .malformedJSON: .badRequest
            case .foreignApp, .missingRight: .forbidden
            default: .unprocessableContent
            }
        let title =
            switch error.code {
            case .malformedJSON: "The body is not JSON"
            case .missingField: "A field is missing"
            case .invalidField: "A field is invalid"
            case .unknownField: "A field is unknown"
            case .unknownEventType: "The event type is unknown"
            case .refusedURL: "The URL is not allowed"
            case .foreignApp: "The token belongs to another app"
            case .missingRight: "The token lacks a scope"
            }
        self.init(
            status, error.code.rawValue, title, detail: error.description,
            field: error.field.isEmpty ? nil : error.field, expected: error.expected)
    }

    init(_ error: StoreError) {
        self.init(
            .serviceUnavailable, "store-unavailable", "The store does not accept changes",
            detail: error.description)
    }

    init(_ error: LayoutError) {
        self.init(
            .unprocessableContent, "layout-invalid", "The layout has errors", detail: "\(error)",
            field: error.issues.first.map { "\($0.path)" }, expected: error.issues.first?.expected,
            issues: error.issues)
    }

    static func notFound(_ what: String, _ name: String, cure: String) -> OrchestratorError {
        // The name may be as long as a path, and the cure repeats it.
        OrchestratorError(
            .notFound, "\(what)-not-found", "There is no such \(what)",
            detail: "\(name.shortened(toBytes: 200)): \(cure.shortened(toBytes: 500))")
    }

    static func methodNotAllowed(_ method: String, _ path: String, allowed: String) -> OrchestratorError {
        OrchestratorError(
            .methodNotAllowed, "method-not-allowed", "The path does not support this method",
            detail: "\(method) \(path.shortened(toBytes: InputError.longestQuote))", expected: allowed,
            headers: [.allow: allowed])
    }

    static func bodyTooLarge(_ limit: Int) -> OrchestratorError {
        OrchestratorError(
            .contentTooLarge, "body-too-large", "The body is too large",
            detail: "at most \(limit) bytes are accepted here")
    }

    /// Answer to a body with broken HTTP framing. The start of the next request is unknown, so the connection is
    /// closed.
    static let malformedBody = OrchestratorError(
        .badRequest, "malformed-body", "The body is not valid HTTP",
        detail: "a chunk size is not a hexadecimal number, or the body ended too early",
        expected: "RFC 9112, chapter 7", headers: [.connection: "close"])

    /// - Parameter app: App of the caller. About tasks of other apps the answer says only that they exist.
    static func outputTaken(_ conflict: OutputLedger.Conflict, app: AppID) -> OrchestratorError {
        let isOwn = conflict.holder.app == app
        let holder = isOwn ? "task \(conflict.holder.name)" : "a task of another app"
        let cure = isOwn ? "end that task, remove its output, or choose another URL" : "choose another URL"
        return OrchestratorError(
            .conflict, "output-in-use", "Another task pushes there",
            detail: "output \(conflict.output) has the same destination as \(holder): \(cure). A task keeps "
                + "its destinations until it has ended", field: "outputs")
    }

    static func noCapacity(_ refusal: AdmissionRefusal) -> OrchestratorError {
        var error = OrchestratorError(
            .serviceUnavailable, "no-capacity", "The machine has no capacity for another program",
            detail: "\(refusal): end a task, retry later, or raise admission.cores",
            headers: [.retryAfter: "\(refusal.retryAfter)"])
        error.refusal = refusal
        return error
    }

    static let overloaded = OrchestratorError(
        .serviceUnavailable, "room-overloaded", "Too many changes of this room are pending",
        detail: "retry in a second")
    static let layoutsOverloaded = OrchestratorError(
        .serviceUnavailable, "layouts-overloaded", "Too many changes of layouts are pending",
        detail: "retry in a second")
    static let stopping = OrchestratorError(
        .serviceUnavailable, "stopping", "The service is shutting down", detail: "retry in a few seconds")
}
