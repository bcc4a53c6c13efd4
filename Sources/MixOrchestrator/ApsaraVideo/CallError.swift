import EventSubscription
import HTTPTypes
import MixModel
import NIOHTTP1
import TaskStore

/// Why a call of the ApsaraVideo Live interface fails, in that interface's words: an HTTP status, a code that app servers
/// compare, and a message for people that names the parameter and the cure.
struct CallError: Error, Hashable, Sendable {
    var status: HTTPResponse.Status
    var code: String
    var message: String
    /// In ms; SDKs tell throttling by it.
    var retryAfter: Int?

    /// In bytes of UTF-8. SDKs compare what was to be signed with what they signed, which has to fit.
    private static let longestMessage = 64 << 10

    init(_ status: HTTPResponse.Status, _ code: String, _ message: String, retryAfter: Int? = nil) {
        self.status = status
        self.code = code
        self.message = message.shortened(toBytes: Self.longestMessage)
        self.retryAfter = retryAfter
    }

    /// - Parameter found: As it came; shown without secrets and cut.
    static func invalid(_ parameter: String, _ found: String, _ expected: String) -> CallError {
        invalid(parameter, "found \(JSONValue.string(found).summary); expected \(expected)")
    }

    static func invalid(_ parameter: String, _ what: String) -> CallError {
        CallError(
            .badRequest, "InvalidParam", "\(parameter.shortened(toBytes: InputError.longestQuote)): \(what)")
    }

    static func missing(_ parameter: String, _ expected: String) -> CallError {
        CallError(.badRequest, "MissingParam", "\(parameter) is missing: expected \(expected)")
    }

    static func throttled(_ what: String, retryAfter seconds: Int, setting: String) -> CallError {
        CallError(
            .tooManyRequests, "Throttling.User",
            "too many \(what): send it again in \(seconds) s; \(setting) is the limit", retryAfter: seconds * 1000)
    }

    static func unavailable(_ message: String, retryAfter milliseconds: Int = 1000) -> CallError {
        CallError(.serviceUnavailable, "ServiceUnavailable", message, retryAfter: milliseconds)
    }
}

// MARK: - What the rest of the service says

extension CallError {
    /// - Parameter error: Errors of unknown kinds are named by type only: they may hold anything.
    init(_ error: any Error) {
        switch error {
        case let error as CallError: self = error
        case let error as OrchestratorError: self.init(error)
        case let error as InputError: self.init(OrchestratorError(error))
        case let error as StoreError: self.init(OrchestratorError(error))
        case is HTTPParserError: self.init(OrchestratorError.malformedBody)
        default: self.init(.internalServerError, "InternalError", "something went wrong here: \(type(of: error))")
        }
    }

    private init(_ error: OrchestratorError) {
        let parameter = Self.parameters[error.code].map { "\($0): " } ?? ""
        // These callers know neither our paths nor our words for what they did.
        let detail = error.code == "subscription-not-found" ? "ListEventSub lists those there are" : error.detail
        let message = "\(parameter)\(error.title): \(detail)"
        switch error.status {
        case .serviceUnavailable:
            let seconds = error.headers[.retryAfter].flatMap { Int($0) } ?? 1
            self = .unavailable(message, retryAfter: seconds * 1000)
        case .tooManyRequests:
            let seconds = error.headers[.retryAfter].flatMap { Int($0) } ?? 1
            self.init(.tooManyRequests, "Throttling.User", message, retryAfter: seconds * 1000)
        case .conflict where error.quota != nil:
            let name = error.quota?.name.rawValue ?? ""
            self.init(.badRequest, "QuotaExceeded.\(name.prefix(1).uppercased())\(name.dropFirst())", message)
        case .forbidden: self.init(.forbidden, "Forbidden", message)
        case .contentTooLarge: self.init(.contentTooLarge, "InvalidParam", message)
        case let status where status.kind == .serverError:
            self.init(.internalServerError, "InternalError", message)
        default: self.init(.badRequest, "InvalidParam", message)
        }
    }

    /// Which parameter a problem of the service's is about.
    private static let parameters = [
        "output-in-use": "StreamURL", "task-ended": "TaskId", "task-not-found": "TaskId",
        "too-many-tasks": "ChannelId", "no-capacity": "TaskId",
        "subscription-not-found": "SubscribeId", "subscription-exists": "ChannelId", "too-many-subscriptions": "AppId",
    ]
}
