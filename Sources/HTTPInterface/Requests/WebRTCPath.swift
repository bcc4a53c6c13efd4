/// The paths of WebRTC sessions. They are followed by an identifier with which a session can be ended, so it is never
/// logged.
enum WebRTCPath {
    static let publishers = "/whip-sessions/"
    static let viewers = "/whep-sessions/"
}
