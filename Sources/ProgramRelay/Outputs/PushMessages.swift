import MixModel
import TextFormats

/// The settings of `mixworker push`, as the first line that it reads: a URL may contain a passphrase, which must not be
/// a process argument.
package struct PushSettings: Hashable, Codable, Sendable {
    /// The URL. An SRT URL contains a checked address instead of its host.
    package var url: String
    /// Addresses that the process may connect to; `nil` if the URL's is the only one.
    package var reach: Reach?

    /// - Parameter reach: Addresses that the process may connect to; `nil` if the URL's is the only one.
    init(url: String, reach: Reach? = nil) {
        self.url = url
        self.reach = reach
    }
}

/// A report from `mixworker push` to its relay, as a line of JSON.
enum PushReport: Hashable, Codable, Sendable {
    /// Bytes of the program, as FLV, that the connection has taken so far.
    case taken(bytes: Int64)
    /// The receiver accepts the stream. Reported by protocols that may drop media before that: tags pushed earlier are
    /// not sent.
    case connected
    /// The receiver needs a keyframe.
    case keyframeWanted
    /// The last report.
    ///
    /// - Parameter code: A more specific code than `isRefusal`; `nil` if none is known.
    case failed(isRefusal: Bool, words: String, code: OutputErrorCode? = nil)
}
