import Logging

/// The files and services that the publishers and players over WebRTC share.
struct WebRTCSurroundings: Sendable {
    let files: WebRTCFiles
    let starter: SocketWorkerStarter
    let metrics: Metrics
    let logger: Logger
}
