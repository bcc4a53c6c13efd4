/// A kind of pull whose bytes are read by GStreamer elements in a process of its own, `mixworker pull`.
///
/// A type needs the members of `PullProtocol`, apart from `open`, and the head of its pipeline.
package protocol WorkerPullKind: PullProtocol {
    /// Whether the URL's host is connected to or listened at, so that its address has to be judged.
    static func usesNetwork(_ address: PullAddress) -> Bool

    /// Whether the URL's host is connected to over TCP.
    static var usesTCP: Bool { get }

    /// Whether the worker itself looks up hosts and judges their addresses, because there is more than one.
    static var judgesAddresses: Bool { get }

    /// Returns the head of the pipeline for a URL. The relay asks for it to refuse a URL early, and the worker to play.
    ///
    /// - Throws: `PullEnd` of kind `.badURL`, without secrets, if the URL cannot be pulled.
    static func head(for address: PullAddress) throws(PullEnd) -> PullHead
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

/// The part of a worker's pipeline that its kind of pull decides.
package struct PullHead: Hashable, Sendable {
    /// A property that is set on an element, so that nothing from outside is a part of the description.
    package struct Property: Hashable, Sendable {
        var element: String
        var name: String
        var value: String

        init(_ element: String, _ name: String, _ value: String) {
            (self.element, self.name, self.value) = (element, name, value)
        }
    }

    /// What comes out of the elements.
    enum Outlet: Hashable, Sendable {
        /// A container, or one elementary stream, of any format. Read by a `decodebin` of this name at the end of the
        /// description.
        case either(String)
        case video(String)
        case audio(String)
        /// H.264 and AAC, delivered to sinks of the usual names in the description itself.
        case none
    }

    /// Elements in the notation of `gst-launch-1.0`.
    var description: String
    var properties: [Property] = []
    var outlets: [Outlet] = [.either("all")]
    /// Whether media come at the rate at which they are shown. If not, the sinks wait for their time.
    var isLive = true
    /// Whether the stream begins again when it ends.
    var isLooped = false
    /// Path of a file, relative to the directory of media, that the element `source` reads.
    var file: String?
    /// Whether the element `source` is an `rtspsrc`, whose requests have to be judged one by one.
    var isRTSP = false
    /// Whether the element `source` is an `srtsrc` that has to be told the address of this machine. Otherwise, it would
    /// listen at the address of the other side.
    var isRendezvous = false
    /// Whether the element `source` is an `appsrc` that gets the segments of an HLS playlist. Sound that has a playlist of
    /// its own goes to another one, `soundSource`.
    var isSegmented = false
    /// Whether there is a session description at the URL, from which the head has to be made.
    var isSessionDescription = false

    /// Names of the elements that get the segments of playlists.
    var segmentSources: [String] { !isSegmented ? [] : outlets.count > 1 ? ["source", "soundSource"] : ["source"] }
}
