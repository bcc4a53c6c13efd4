/// URL schemes that relays can pull.
package enum PullSchemes {
    /// Names in lower case. Generated from `PullProtocols.all`, which is in a module that the service does not import:
    /// `UPDATE_GOLDEN=1 swift test --filter PullDocumentTests` regenerates this list.
    package static let all = [
        "rtmp",
        "rtmps",
        "http",
        "https",
        "file",
        "rtsp",
        "rtspu",
        "rtsps",
        "srt",
        "udp",
        "rtp",
        "test",
    ]

    /// Schemes whose URLs may contain a user name and a password. Also generated.
    package static let withCredentials = [
        "rtsp",
        "rtspu",
        "rtsps",
    ]
}
