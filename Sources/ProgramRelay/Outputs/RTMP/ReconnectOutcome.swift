import RTMP
import TextFormats

/// The result of a server's request to reconnect, for operators. Contains no secrets of the URLs.
struct ReconnectOutcome: Hashable, Sendable {
    /// `output-moved` or `output-stays`. Stable.
    var code: String
    var words: String
    var isBad: Bool

    /// The output publishes on another connection from a keyframe on.
    ///
    /// - Parameter clean: Removes the secrets of the URLs from a text.
    static func moved(
        to address: RTMPAddress, _ request: ReconnectRequest, clean: (String) -> String
    ) -> Self {
        Self(
            code: "output-moved",
            words: "continues at \(place(address)) from a keyframe on, because its server asked it to reconnect"
                + quoted(request, clean),
            isBad: false)
    }

    /// The output stays at the present connection.
    ///
    /// - Parameters:
    ///   - address: Address at which the other connection was tried; `nil` if the request has no valid one.
    ///   - clean: Removes the secrets of the URLs from a text.
    static func stays(
        _ reason: String, at address: RTMPAddress?, _ request: ReconnectRequest,
        clean: (String) -> String
    ) -> Self {
        let wish = address.map { "reconnect to \(place($0))" } ?? "reconnect"
        return Self(
            code: "output-stays",
            words: "stays at its server, which asked it to \(wish)\(quoted(request, clean)): "
                + clean(reason).shortened(toBytes: 400),
            isBad: true)
    }

    /// The server has chosen the host, whose name may have any length.
    private static func place(_ address: RTMPAddress) -> String {
        URLRedaction(address.server).url.shortened(toBytes: 200)
    }

    private static func quoted(_ request: ReconnectRequest, _ clean: (String) -> String) -> String {
        request.words.map { " (\"\(clean($0))\")" } ?? ""
    }
}
