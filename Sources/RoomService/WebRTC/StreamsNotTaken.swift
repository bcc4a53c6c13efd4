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
    /// - Parameter needsToken: Whether only a token of the app may look after the session.
    mutating func note(_ id: String, of app: AppID, needsToken: Bool, reason: String) {
        let prefix = WebRTCReport.notTaken.utf8
        guard reason.utf8.starts(with: prefix) else { return }
        let isReplaced = reason.contains(IngestStream.takenOver)
        let words =
            isReplaced ? IngestStream.takenOver : String(Substring(reason.utf8.dropFirst(prefix.count)))
        if sessions.count >= Self.most { sessions.removeFirst() }
        let error = OrchestratorError.whipStreamNotTaken(isReplaced: isReplaced, URLRedaction.redact(words))
        sessions.append(Session(id: id, app: app, needsToken: needsToken, error: error))
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
