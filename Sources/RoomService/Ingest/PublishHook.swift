import EventSubscription
import Foundation
import MixModel
import TextFormats

/// The settings of `ingest.onPublish`: the operator's server that is asked before a publisher is accepted.
package struct PublishHook: Hashable, Sendable {
    package let url: StreamURL
    /// Timeout for one answer. If it passes, the publisher is refused.
    package let timeout: Duration
    /// `whsec_` followed by the key that signs requests; `nil` = requests are not signed.
    package let secret: String?

    /// Range of `timeout` in seconds. The ingest itself gives up after 8 s.
    package static let timeouts = 0.1...7.0
    package static let standardTimeout = 3.0

    /// - Parameters:
    ///   - timeout: Seconds.
    ///   - secret: A secret that `WebhookSignature.key(of:)` can parse.
    package init(url: StreamURL, timeout: Double = Self.standardTimeout, secret: String? = nil) {
        self.url = url
        self.timeout = .milliseconds(Int(timeout * 1000))
        self.secret = secret
    }
}

/// The body of a request to `ingest.onPublish`. Contains no tokens or signatures of this service.
struct PublishHookQuestion: Encodable {
    let type = "ingest.publish"
    /// Identifier of the question, the same in every repetition.
    var id: String
    var app: AppID
    /// Room, user and stream according to the name; left out if it matches no pattern.
    var room: String?
    var user: UserID?
    var stream: StreamKind?
    /// Names and arguments as sent by the publisher. The name is the stream key.
    var application: String
    var name: String
    var arguments: [String: String]
    /// Address of the publisher.
    var address: String

    /// Arguments addressed to this service.
    private static let own: Set<String> = ["auth_key", "token"]

    init(_ request: IngestRequest, app: AppID, names: StreamNames?) {
        id = "pub_\(request.session)"
        self.app = app
        (room, user, stream) = (names?.room.name, names?.user, names?.stream)
        (application, name, address) = (request.application, request.name, request.address)
        arguments = HookForm(request.query.utf8).values.filter { !Self.own.contains($0.key) }
    }
}

/// The decision of `ingest.onPublish` about a publisher.
enum PublishHookDecision: Hashable, Sendable {
    /// The stream belongs to this participant.
    case allowed(StreamNames)
    /// - Parameters:
    ///   - isName: Whether the stream's name is the reason, and not the publisher.
    ///   - reason: Explanation for the publisher.
    ///   - log: Text for the log, which contains nothing of the hook's answer.
    case refused(isName: Bool, reason: String, log: String)
}

/// Parses the answer of `ingest.onPublish`. Pure.
///
/// Only a success status (2xx) whose body is empty or a JSON object with known members only accepts a publisher: a
/// misspelt `allow` must not admit one.
struct PublishHookReader: Sendable {
    let app: AppID
    /// The names parsed from the stream's name; `nil` if it matches no pattern, for the reason in `mismatch`.
    let names: StreamNames?
    let mismatch: String

    private static let members: Set<String> = ["allow", "reason", "room", "user", "stream"]
    /// Maximum length of a reason that is passed on, in bytes.
    static let longestReason = 200
    /// The reason given to a publisher when the hook fails.
    static let fault = "the server that decides about publishers cannot be asked at the moment: try again"

    func decision(on answer: WebhookAnswer, within limit: Duration) -> PublishHookDecision {
        switch answer.result {
        case .delivered:
            guard let body = answer.body else {
                return failed("answered with more than \(WebhookPost.mostBytes) bytes")
            }
            return read(body)
        case .refused where Self.isVerdict(answer.code): return denied(reason(in: answer.body ?? []))
        case .timeout:
            let seconds = Double(limit.components.seconds) + Double(limit.components.attoseconds) / 1e18
            return failed("did not answer within \(seconds) s")
        case .redirected: return failed("answered with a redirect, which is not followed: set the new URL")
        case .abandoned: return failed("was not asked, because the service is stopping")
        case .refused, .unreachable, .forbidden: return failed(answer.error ?? "answered \(answer.code ?? 0)")
        }
    }

    /// Returns whether a status is a decision rather than a fault of the hook.
    private static func isVerdict(_ code: Int?) -> Bool {
        guard let code, 400...499 ~= code else { return false }
        return code != 408 && code != 429
    }

    private func failed(_ words: String) -> PublishHookDecision {
        .refused(isName: false, reason: Self.fault, log: "ingest.onPublish \(words)")
    }

    private func denied(_ reason: String?) -> PublishHookDecision {
        let words = reason.map { OneLine.of(URLRedaction.redact($0)).shortened(toBytes: Self.longestReason) } ?? ""
        return .refused(
            isName: false, reason: words.isEmpty ? "publishing is not allowed" : words,
            log: "ingest.onPublish does not allow it")
    }

    private func reason(in body: [UInt8]) -> String? {
        guard case .object(let members)? = try? JSONValue(parsing: body), case .string(let text)? = members["reason"]
        else { return nil }
        return text
    }

    private func read(_ body: [UInt8]) -> PublishHookDecision {
        guard !body.isEmpty else { return named([:]) }
        guard case .object(let members)? = try? JSONValue(parsing: body) else {
            return failed("answered with something other than a JSON object")
        }
        guard members.keys.allSatisfy(Self.members.contains) else {
            return failed("answered with a member that is none of \(Self.members.sorted().joined(separator: ", "))")
        }
        var texts: [String: String] = [:]
        for (name, value) in members where name != "allow" {
            switch value {
            case .string(let text): texts[name] = text
            case .null: break
            default: return failed("answered with \"\(name)\" that is not a string")
            }
        }
        switch members["allow"] {
        case nil, .boolean(true)?: return named(texts)
        case .boolean(false)?: return denied(texts["reason"])
        default: return failed("answered with \"allow\" that is neither true nor false")
        }
    }

    /// Accepts the publisher under its own names, or under those given by the hook.
    private func named(_ given: [String: String]) -> PublishHookDecision {
        do throws(InputError) {
            let room = try given["room"].map { text throws(InputError) in
                try EventParser.identifier(text, field: "room")
            }
            let user = try given["user"].map { text throws(InputError) in
                UserID(try EventParser.identifier(text, field: "user"))
            }
            var stream = names?.stream ?? .camera
            if let word = given["stream"] {
                guard let known = StreamKind.allCases.first(where: { $0.rawValue.hasSameUTF8(as: word) }) else {
                    return failed(
                        "answered with a stream that is none of "
                            + StreamKind.allCases.map(\.rawValue).joined(separator: ", "))
                }
                stream = known
            }
            guard let room = room ?? names?.room.name, let user = user ?? names?.user else {
                return .refused(isName: true, reason: mismatch, log: mismatch)
            }
            return .allowed(StreamNames(room: RoomID(app: app, name: room), user: user, stream: stream))
        } catch {
            return failed("answered with a \(error.field) that is not valid: expected \(error.expected)")
        }
    }
}
