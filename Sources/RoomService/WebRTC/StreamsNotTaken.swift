import EncodedMedia
import EventSubscription
import MixModel
import TextFormats

/// The latest sessions that ended because the ingest did not take their streams, and why. Pure.
///
/// WHIP has no message for it: a client learns it when it looks after its session.
struct StreamsNotTaken: Sendable {
    private struct Session: Sendable {
        var id: String
        var app: AppID
        var needsToken: Bool
        var error: OrchestratorError
    }

    static let most = 256

    /// The latest last.
    private var sessions: [Session] = []

    /// Takes the end of a session. Other ends are not kept.
    ///
    /// - Parameters:
    ///   - needsToken: Whether only a token of the app may look after the session.
    ///   - cause: The kind of end; `nil` if the worker has not reported it.
    mutating func note(_ id: String, of app: AppID, needsToken: Bool, reason: String, cause: WebRTCEndCause?) {
        guard let isReplaced = Self.isReplaced(reason, cause) else { return }
        let prefix = WebRTCReport.notTaken.utf8
        let refusal = reason.utf8.dropFirst(reason.utf8.starts(with: prefix) ? prefix.count : 0)
        let words = isReplaced ? IngestStream.takenOver : String(Substring(refusal))
        if sessions.count >= Self.most { sessions.removeFirst() }
        let error = OrchestratorError.whipStreamNotTaken(isReplaced: isReplaced, URLRedaction.redact(words))
        sessions.append(Session(id: id, app: app, needsToken: needsToken, error: error))
    }

    /// Returns whether another publisher has the stream; `nil` if the end has another reason than the stream.
    private static func isReplaced(_ reason: String, _ cause: WebRTCEndCause?) -> Bool? {
        guard let cause else {
            // Workers of earlier releases say it in words only.
            guard reason.utf8.starts(with: WebRTCReport.notTaken.utf8) else { return nil }
            return reason.contains(IngestStream.takenOver)
        }
        switch cause {
        case .streamReplaced: return true
        case .streamRefused: return false
        default: return nil
        }
    }

    /// Returns why the session's stream was not taken; `nil` if that is not known, or not for this caller.
    ///
    /// - Parameter app: The app of a token; `nil` without one.
    func error(_ id: String, of app: AppID?) -> OrchestratorError? {
        guard let session = sessions.last(where: { $0.id.hasSameUTF8(as: id) }),
            app.map({ $0 == session.app }) ?? !session.needsToken
        else { return nil }
        return session.error
    }
}
