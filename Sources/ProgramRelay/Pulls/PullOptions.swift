import EncodedMedia
import Foundation
import RTMP

/// The pace at which a pull delivers its items.
package enum PullPacing: String, Hashable, Sendable, CaseIterable {
    /// At once: the sender sends in real time.
    case live
    /// Each frame when it is due by its timestamp: the stream arrives faster than real time, as from a file. Only for
    /// pulls with their own thread, which waits.
    case timestamps
}

/// Settings of a pull. Each kind of pull has its defaults.
package struct PullOptions: Hashable, Sendable {
    /// Time limit of each step of connecting in whole seconds, at least 1.
    package var connectTimeout: Int
    /// Time without media after which the connection ends, in whole seconds; 0 means never. Also the longest wait for a
    /// publisher.
    package var idleTimeout: Int
    /// The pace of kinds that use `FLVElementPull`. A kind in a worker sets `PullHead.isLive` instead.
    package var pacing: PullPacing
    /// Time for which packets may be delayed, so that late and retransmitted ones fall into place. `nil` for transports
    /// that deliver in order without delay. A kind in a worker gets it with its head.
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

/// The request to pull a stream.
package struct PullRequest: Sendable {
    package var url: String
    /// Addresses to which the connection may go; `nil` allows any.
    package var limits: Destination.Limits?
    package var options: PullOptions
    /// Trusted certificates; `nil` uses those of the system.
    package var trust: TLSContext?
    /// The `mixworker` binary, for kinds that pull in a separate process.
    package var worker: URL?
    /// Whether the previous attempt failed, so that it is worth checking first whether a server listens at all.
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
