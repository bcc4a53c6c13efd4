import Dispatch
import EncodedMedia
import Foundation
import MixModel
import RTMP
import TextFormats

/// The kinds of pull.
package enum PullProtocols {
    /// All kinds; of those that accept a URL, the first one opens it.
    package static let all: [any PullProtocol.Type] = [
        RTMPSocketPull.self,
        RTMPPull.self,
        HLSPull.self,
        SDPPull.self,
        HTTPPull.self,
        RTSPPull.self,
        SRTPull.self,
        UDPPull.self,
        FilePull.self,
        TestPull.self,
    ]

    /// Names of the supported schemes, each once, in the order of `all`.
    package static var schemes: [String] {
        all.flatMap { $0.schemes.map(\.name) }.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// Returns the kind that opens a URL; `nil` if none accepts it.
    package static func kind(of url: String) -> (any PullProtocol.Type)? {
        all.first { $0.scheme(of: url) != nil && $0.takes(url) }
    }

    /// Begins to connect and returns at once. A pull that cannot be created ends with `.ended`, from another thread.
    ///
    /// - Parameters:
    ///   - reach: Addresses to which the connection may go; `nil` allows any.
    ///   - worker: The `mixworker` binary, for kinds that pull in a separate process, and for transcoded tracks.
    ///   - isRetry: Whether the previous attempt failed.
    ///   - videoCodecs: Video codecs that the program carries.
    static func open(
        _ url: String, reach: Reach? = nil, worker: URL? = nil, isRetry: Bool = false,
        videoCodecs: Set<VideoCodec> = [.h264],
        onEvent: @escaping @Sendable (PullEvent) -> Void
    ) -> any SourcePull {
        guard let kind = kind(of: url) else {
            let expected = schemes.map { $0 + "://" }.joined(separator: ", ")
            let receiver = PullReceiver(onEvent)
            DispatchQueue.global().async {
                receiver.end(PullEnd(.badURL, "the URL cannot be pulled: expected one of \(expected)"))
            }
            return ClosedPull(receiver: receiver)
        }
        let limits = reach.map { Destination.Limits(reach: $0, setting: "sources.allow") }
        var request = PullRequest(
            url: url, limits: limits, options: kind.options, worker: worker, isRetry: isRetry)
        request.videoCodecs = videoCodecs
        return kind.open(request, onEvent: onEvent)
    }

    /// The pull of a URL that no kind accepts.
    private struct ClosedPull: SourcePull {
        let receiver: PullReceiver

        func stop() { receiver.silence() }
        func close() async { receiver.silence() }
    }
}
