import RTMP

/// Pulls a stream over RTMP or RTMPS from servers that require a user name.
///
/// Uses `rtmp2src`; docs/adr/0001-rtmp-source.md has the measurements.
package enum RTMPPull: PullProtocol {
    package static let name = "RTMP with a user name"
    package static let summary = "H.264 and AAC, with Adobe's authentication; the service refuses user names in URLs"
    package static let schemes = RTMPSocketPull.schemes
    package static let elements = [PullElement("rtmp2src", package: "gstreamer1.0-plugins-bad")]

    package static func takes(_ url: String) -> Bool { RTMPAddress.hasCredentials(url) }

    package static func open(
        _ request: PullRequest, onEvent: @escaping @Sendable (PullEvent) -> Void
    ) -> any SourcePull {
        FLVElementPull.open(
            "rtmp2src", request, of: self,
            properties: {
                [
                    ("location", $0.url), ("timeout", "\($0.options.connectTimeout)"),
                    ("idle-timeout", "\($0.options.idleTimeout)"),
                ]
            }, onEvent: onEvent)
    }
}
