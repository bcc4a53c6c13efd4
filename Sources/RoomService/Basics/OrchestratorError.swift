import EventSubscription
import LayoutEngine
import MixModel
import TaskStore

/// The reason why the service refuses a client's request. Interfaces map its kind to their own terms.
package struct OrchestratorError: Error, Hashable, Sendable {
    /// The class of an error, from which interfaces choose their answer.
    package enum Kind: String, Hashable, Codable, Sendable {
        /// The request cannot be read.
        case malformed
        /// The request can be read, but contains a value that cannot be used.
        case invalid
        /// The request is correct, but this service can use nothing in it.
        case unacceptable
        /// The caller is not allowed to do that.
        case forbidden
        case notFound
        /// The request contradicts the current state.
        case conflict
        /// The resource does not meet the condition that the request states.
        case outdated
        /// The caller has reached one of its limits.
        case exhausted
        /// The service cannot do it now. The same request may succeed later.
        case unavailable
        /// The service itself has failed, and repeating the request does not help.
        case failed
    }

    package var kind: Kind
    /// Stable identifier of the problem, such as `room-not-found`.
    package var code: String
    package var title: String
    package var detail: String
    /// JSON path of the field at fault.
    package var field: String?
    package var expected: String?
    /// All errors of a layout.
    package var issues: [LayoutIssue]?
    /// Seconds after which the request may succeed; `nil` = unknown.
    package var retryAfter: Int?
    /// Tag of the current settings, for a request whose condition they do not meet.
    package var currentTag: SettingsTag?
    /// The refusal, with the resource that the machine lacks.
    package var refusal: AdmissionRefusal?
    /// The quota that the app has used up.
    package var quota: Quota?

    /// Maximum length of the detail, in bytes of UTF-8. All errors of a layout together may be longer; `issues` holds
    /// them.
    package static let longestDetail = 4096
    package static let longestField = 256

    package init(
        _ kind: Kind, _ code: String, _ title: String, detail: String, field: String? = nil,
        expected: String? = nil, issues: [LayoutIssue]? = nil, retryAfter: Int? = nil, currentTag: SettingsTag? = nil
    ) {
        self.kind = kind
        self.code = code
        self.title = title
        // Shortened here, so that code that quotes paths and names need not limit their length.
        self.detail = detail.shortened(toBytes: Self.longestDetail)
        self.field = field?.shortened(toBytes: Self.longestField)
        self.expected = expected
        self.issues = issues
        self.retryAfter = retryAfter
        self.currentTag = currentTag
    }

    package init(_ error: InputError) {
        let kind: Kind =
            switch error.code {
            case .malformedJSON: .malformed
            case .foreignApp, .missingRight: .forbidden
            default: .invalid
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
            kind, error.code.rawValue, title, detail: error.description,
            field: error.field.isEmpty ? nil : error.field, expected: error.expected)
    }

    package init(_ error: StoreError) {
        self.init(
            .unavailable, "store-unavailable", "The store does not accept changes", detail: error.description)
    }

    package init(_ error: LayoutError) {
        self.init(
            .invalid, "layout-invalid", "The layout has errors", detail: "\(error)",
            field: error.issues.first.map { "\($0.path)" }, expected: error.issues.first?.expected,
            issues: error.issues)
    }

    package static func notFound(_ what: String, _ name: String, cure: String) -> OrchestratorError {
        // The name may be as long as a path, and the remedy repeats it.
        OrchestratorError(
            .notFound, "\(what)-not-found", "There is no such \(what)",
            detail: "\(name.shortened(toBytes: 200)): \(cure.shortened(toBytes: 500))")
    }

    static func moving(_ room: String) -> OrchestratorError {
        OrchestratorError(
            .unavailable, "room-moving", "The room is on its way to another node",
            detail: "the room \(room.shortened(toBytes: 200)) has no node at this moment: retry in a second",
            retryAfter: 1)
    }

    package static let overloaded = OrchestratorError(
        .unavailable, "room-overloaded", "Too many changes of this room are pending",
        detail: "retry in a second")
    package static let layoutsOverloaded = OrchestratorError(
        .unavailable, "layouts-overloaded", "Too many changes of layouts are pending",
        detail: "retry in a second")
    package static let stopping = OrchestratorError(
        .unavailable, "stopping", "The service is shutting down", detail: "retry in a few seconds")
}

extension Result where Failure == OrchestratorError {
    /// Performs `body` in the caller's isolation and returns its result, including a thrown error.
    static func of(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws(OrchestratorError) -> Success
    ) async -> Self {
        do throws(OrchestratorError) {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }
}
