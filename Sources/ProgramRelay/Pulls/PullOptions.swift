import EncodedMedia
import Foundation
import RTMP

/// The time at which a pull delivers what it reads.
package enum PullPacing: String, Hashable, Sendable, CaseIterable {
    /// At once: the sender sends in real time.
    case live
    /// When each frame is due by its timestamp: the stream comes faster than it is shown, as from a file. Only for pulls
    /// with a thread of their own, which waits.
    case timestamps
}

/// Settings of a pull. Each kind of pull has its defaults.
package struct PullOptions: Hashable, Sendable {
    /// Limit of each step of connecting in whole seconds, at least 1.
    package var connectTimeout: Int
    /// Time without media after which the connection ends, in whole seconds; 0 = never. Also the longest wait for a
    /// publisher.
    package var idleTimeout: Int
    package var pacing: PullPacing
    /// Time for which a packet may be held back, so that late and lost ones can take their place. `nil` for transports
    /// that deliver in order and hold nothing back.
    package var latency: MediaTime?

    package init(
        connectTimeout: Int = 5, idleTimeout: Int = 15, pacing: PullPacing = .live, latency: MediaTime? = nil
    ) {
        self.connectTimeout = max(1, connectTimeout)
        self.idleTimeout = max(0, idleTimeout)
        self.pacing = pacing
        self.latency = latency
    }
}

/// The stream that a pull is opened for.
package struct PullRequest: Sendable {
    package var url: String
    /// Addresses that the connection may go to; `nil` = any.
    package var limits: Destination.Limits?
    package var options: PullOptions
    /// Trusted certificates; `nil` = those that the system trusts.
    package var trust: TLSContext?
    /// The `mixworker` binary, for kinds that pull in a process of their own.
    package var worker: URL?
    /// Whether the attempt before this one has failed, so that it is worth finding out whether there is a server at all.
    package var isRetry: Bool
    /// Video codecs that the program carries. Pictures of another codec are transcoded to H.264.
    package var videoCodecs: Set<VideoCodec> = [.h264]

    package init(
        url: String, limits: Destination.Limits? = nil, options: PullOptions = PullOptions(), trust: TLSContext? = nil,
        worker: URL? = nil, isRetry: Bool = false
    ) {
        self.isRetry = isRetry
        self.worker = worker
        self.url = url
        self.limits = limits
        self.options = options
        self.trust = trust
    }
}
