import MixModel
import TextFormats

/// What `mixworker push` is told. The first line that it reads, because a URL may hold a passphrase, which arguments of a process
/// must not.
package struct PushSettings: Hashable, Codable, Sendable {
    /// URL. That of SRT has a checked address in place of its host.
    package var url: String
    /// Addresses that the process may connect to; `nil` if the URL's is the only one.
    package var reach: Reach?

    /// - Parameter reach: Addresses that the process may connect to; `nil` if the URL's is the only one.
    init(url: String, reach: Reach? = nil) {
        self.url = url
        self.reach = reach
    }
}

/// What `mixworker push` tells its relay, as lines of JSON.
enum PushReport: Hashable, Codable, Sendable {
    /// Bytes of the program, as FLV, that the connection has taken so far.
    case taken(bytes: Int64)
    /// The receiver takes the stream. Told by protocols that can be behind before that: what they were given earlier is not sent.
    case connected
    /// The receiver needs a keyframe.
    case keyframeWanted
    /// The last report.
    ///
    /// - Parameter code: Says more than `isRefusal`; `nil` if nothing more is known.
    case failed(isRefusal: Bool, words: String, code: OutputErrorCode? = nil)
}
