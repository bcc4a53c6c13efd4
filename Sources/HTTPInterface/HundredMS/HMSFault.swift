import EventSubscription
import HTTPTypes
import NIOHTTP1
import RoomService
import TaskStore

/// The failure of a call in the terms of 100ms' interface: `{"code", "message", "details"}`.
struct HMSFault: Error, Hashable, Sendable {
    var status: HTTPResponse.Status
    var message: String
    /// Descriptions of the error and the remedy.
    var details: [String]
    /// Time before the next attempt, in seconds.
    var retryAfter: Int?

    init(_ status: HTTPResponse.Status, _ message: String, _ details: [String] = [], retryAfter: Int? = nil) {
        self.status = status
        self.message = message
        self.details = details
        self.retryAfter = retryAfter
    }

    /// Returns the refusal of a token, which reveals nothing about the token's content.
    static func token(_ detail: String) -> HMSFault { HMSFault(.unauthorized, "Token validation error", [detail]) }

    static func notFound(_ what: String, _ cure: String) -> HMSFault {
        HMSFault(.notFound, "\(what) not found", [cure])
    }

    static func invalid(_ field: String, _ expected: String) -> HMSFault {
        HMSFault(.badRequest, "\(field) is invalid", ["expected \(expected)"])
    }

    static let busy = HMSFault(
        .serviceUnavailable, "too many calls wait for the room", ["retry in a second"], retryAfter: 1)

    /// The body of the answer.
    var document: JSONValue {
        .object([
            "code": .number(Double(status.code)), "message": .string(message),
            "details": .array(details.map { .string($0) }),
        ])
    }
}

// MARK: - Errors of the rest of the service

extension HMSFault {
    /// Translates an error of the service. Errors of unknown types are described by their type only.
    init(_ error: any Error) {
        switch error {
        case let error as HMSFault: self = error
        case let error as HTTPProblem: self.init(error)
        case let error as OrchestratorError: self.init(HTTPProblem(error))
        case let error as InputError: self.init(HTTPProblem(OrchestratorError(error)))
        case let error as StoreError: self.init(HTTPProblem(OrchestratorError(error)))
        case is HTTPParserError: self.init(HTTPProblem.malformedBody)
        default: self.init(.internalServerError, "internal error", ["\(type(of: error))"])
        }
    }

    init(_ problem: HTTPProblem) {
        let field = problem.field.map { $0.isEmpty ? "" : "\($0): " } ?? ""
        self.init(
            Self.status(of: problem.status), field + problem.title,
            [problem.detail, problem.expected.map { "expected \($0)" }].compactMap(\.self).filter { !$0.isEmpty },
            retryAfter: problem.headers[.retryAfter].flatMap { Int($0) })
    }

    /// Returns 400 for errors that a caller can correct; other statuses are unchanged.
    private static func status(of status: HTTPResponse.Status) -> HTTPResponse.Status {
        switch status {
        case .unprocessableContent, .conflict, .unsupportedMediaType: .badRequest
        default: status
        }
    }
}
