import EncodedMedia

/// A kind of pull whose bytes are read by GStreamer elements in a separate process, `mixworker pull`.
///
/// A type needs the members of `PullProtocol`, apart from `open`, and the head of its pipeline.
package protocol WorkerPullKind: PullProtocol {
    /// Returns whether the pull connects to the URL's host or listens at it, so that its address must be checked.
    static func usesNetwork(_ address: PullAddress) -> Bool

    /// Whether the pull connects to the URL's host over TCP.
    static var usesTCP: Bool { get }

    /// Whether the worker itself resolves hosts and checks their addresses, because there is more than one.
    static var judgesAddresses: Bool { get }

    /// Returns the head of the pipeline for a URL. The relay calls it to refuse a URL early, and the worker to play.
    ///
    /// - Parameter latency: `PullOptions.latency`, for the elements that hold packets back; 0 if there are none.
    /// - Throws: `PullEnd` of kind `.badURL`, without secrets, if the URL cannot be pulled.
    static func head(for address: PullAddress, latency: MediaTime) throws(PullEnd) -> PullHead
}

extension WorkerPullKind {
    package static func usesNetwork(_ address: PullAddress) -> Bool { true }
    package static var usesTCP: Bool { false }
    package static var judgesAddresses: Bool { false }

    package static func open(
        _ request: PullRequest, onEvent: @escaping @Sendable (PullEvent) -> Void
    ) -> any SourcePull {
        WorkerPull.open(request, of: self, onEvent: onEvent)
    }
}

/// The part of a worker's pipeline that depends on its kind of pull.
package struct PullHead: Hashable, Sendable {
    /// A property that is set on an element, so that the description contains no external text.
    package struct Property: Hashable, Sendable {
        var element: String
        var name: String
        var value: String

        init(_ element: String, _ name: String, _ value: String) {
            (self.element, self.name, self.value) = (element, name, value)
        }
    }

    /// The output of the elements.
    enum Outlet: Hashable, Sendable {
        /// A container or an elementary stream of any format, read by a `decodebin` with this name at the end of the
        /// description.
        case either(String)
        case video(String)
        case audio(String)
        /// H.264 and AAC, delivered to sinks with the usual names in the description itself.
        case none
    }

    /// Elements in the notation of `gst-launch-1.0`.
    var description: String
    var properties: [Property] = []
    var outlets: [Outlet] = [.either("all")]
    /// Whether media arrives in real time. If not, the sinks wait for its time.
    var isLive = true
    /// Whether the stream is repeated when it ends.
    var isLooped = false
    /// Path of a file, relative to the media directory, that the element `source` reads.
    var file: String?
    /// Whether pictures come in RTP, which has no decoding times.
    var isRTP = false
    /// Whether the element `source` is an `rtspsrc`, whose requests must be checked one by one.
    var isRTSP = false
    /// Whether the element `source` is an `srtsrc` that needs the address of this machine. Otherwise, it would listen
    /// at the peer's address.
    var isRendezvous = false
    /// Whether the element `source` is an `appsrc` that gets the segments of an HLS playlist. Audio with its own
    /// playlist goes to another one, `soundSource`.
    var isSegmented = false
    /// Whether the URL leads to a session description, from which the head must be made.
    var isSessionDescription = false

    /// Names of the elements that receive the segments of playlists.
    var segmentSources: [String] { !isSegmented ? [] : outlets.count > 1 ? ["source", "soundSource"] : ["source"] }
}
