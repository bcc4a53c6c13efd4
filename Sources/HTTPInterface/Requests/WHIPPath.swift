/// The paths of WHIP sessions.
enum WHIPPath {
    /// Beginning of the paths. The session's identifier follows, with which it can be ended, so it is never logged.
    static let sessions = "/whip-sessions/"
}
