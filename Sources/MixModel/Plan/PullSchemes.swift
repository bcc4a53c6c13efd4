/// URL schemes that relays can pull.
package enum PullSchemes {
    /// Names in lower case. Generated from `PullProtocols.all`, which is in a module that the service does not import:
    /// `UPDATE_GOLDEN=1 swift test --filter PullDocumentTests` writes this list anew.
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

    /// Those whose URLs may name a user and a password. Generated likewise.
    package static let withCredentials = [
        "rtsp",
        "rtspu",
        "rtsps",
    ]
}
