import EventSubscription
import HTTPTypes
import NIOHTTP1
import RoomService
import TaskStore

/// The failure of an ApsaraVideo Live call in that interface's terms.
///
/// It has an HTTP status, a code that app servers compare, and a message for people that names the parameter and the
/// remedy.
struct CallError: Error, Hashable, Sendable {
    var status: HTTPResponse.Status
    var code: String
    var message: String
    /// Time before the next attempt, in ms. SDKs recognise throttling by it.
    var retryAfter: Int?

    /// Maximum length of the message, in bytes of UTF-8. It must have room for the string to sign, which SDKs compare
    /// with their own.
    private static let longestMessage = 64 << 10

    init(_ status: HTTPResponse.Status, _ code: String, _ message: String, retryAfter: Int? = nil) {
        self.status = status
        self.code = code
        self.message = message.shortened(toBytes: Self.longestMessage)
        self.retryAfter = retryAfter
    }

    /// - Parameter found: The value as received. The message shows it truncated and without secrets.
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
            "too many \(what): retry in \(seconds) s; the limit is \(setting)", retryAfter: seconds * 1000)
    }

    static func unavailable(_ message: String, retryAfter milliseconds: Int = 1000) -> CallError {
        CallError(.serviceUnavailable, "ServiceUnavailable", message, retryAfter: milliseconds)
    }
}

// MARK: - Errors of the rest of the service

extension CallError {
    /// Translates an error of the service.
    ///
    /// - Parameter error: The error. Errors of unknown types are described by their type only, because they may contain
    ///   anything.
    init(_ error: any Error) {
        switch error {
        case let error as CallError: self = error
        case let error as HTTPProblem: self.init(error)
        case let error as OrchestratorError: self.init(HTTPProblem(error))
        case let error as InputError: self.init(HTTPProblem(OrchestratorError(error)))
        case let error as StoreError: self.init(HTTPProblem(OrchestratorError(error)))
        case is HTTPParserError: self.init(HTTPProblem.malformedBody)
        default: self.init(.internalServerError, "InternalError", "internal error: \(type(of: error))")
        }
    }

    private init(_ error: HTTPProblem) {
        let parameter = Self.parameters[error.code].map { "\($0): " } ?? ""
        // These callers know neither the service's paths nor its terms for the call.
        let detail = error.code == "subscription-not-found" ? "ListEventSub lists the existing ones" : error.detail
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

    /// The parameter that an error of the service concerns, by the error's code.
    private static let parameters = [
        "output-in-use": "StreamURL", "task-ended": "TaskId", "task-not-found": "TaskId",
        "too-many-tasks": "ChannelId", "no-capacity": "TaskId",
        "subscription-not-found": "SubscribeId", "subscription-exists": "ChannelId", "too-many-subscriptions": "AppId",
    ]
}
