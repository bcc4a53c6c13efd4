/// The texts with which Web Call Server explains a status. Its clients compare them literally.
enum WCSInfo {
    static let nameInUse = "Stream name is already in use"
    static let streamNotFound = "Stream not found"
    static let noSession = "Session does not exist"
    static let stoppedByUser = "Stopped by user"
    static let stoppedByREST = "Stopped by rest /terminate"
    static let stoppedByPublisher = "Stopped by publisher stop"
    static let notReady = "Session not ready"
    static let iceTimeout = "Failed by ICE timeout"
    static let rtpActivity = "Failed by RTP activity"
    static let failedByError = "Failed by error"
    static let noCommonCodecs = "No common codecs"
    static let restricted = "Restricted access"
    static let idInUse = "MediaSessionId is already in use"
}
