import GStreamerKit
import MediaFormats
import MixModel
import RTMP
import Synchronization

/// Publishes over RTMP or RTMPS to servers that require a user name, through `rtmp2sink`.
///
/// `rtmp2sink` accepts one FLV tag per buffer, needs no FLV header and keeps the tags' timestamps. It blocks its own
/// thread until it is connected and while the socket is full. Tags that it has not taken wait in the source in front of
/// it.
final class RTMPConnection: OutputConnection {
    /// Number of bytes pushed, and the end of each tag that is not known to be sent.
    private struct Progress {
        var pushed: Int64 = 0
        var sent: Int64 = 0
        var ends: [Int64] = []
        /// The fault of a source that refuses a tag, because the pipeline is over.
        var refusal: OutputFault?
    }

    private let pipeline: Pipeline
    private let source: AppSource
    private let progress = Mutex(Progress())
    private let destination: Destination?

    /// Creates a connection; `open()` connects it.
    /// - Parameter trustsAnyone: Whether any certificate is accepted, for tests.
    init(
        url: String, limits: Destination.Limits? = nil, name: String, trustsAnyone: Bool = false
    ) throws(GStreamerError) {
        destination = Destination(url: url, limits: limits)
        // `async=false`: without it the sink would wait for a first buffer to change its state.
        // `chunk-size`: each of the default's pieces of 128 bytes costs a buffer, a quarter of the sink's work.
        pipeline = try Pipeline(
            "appsrc name=in caps=video/x-flv format=time max-bytes=0 "
                + "! rtmp2sink name=sink async-connect=true async=false sync=false timeout=5 chunk-size=4096",
            name: name)
        try pipeline.element("sink").set("location", to: url)
        if trustsAnyone { try pipeline.element("sink").set("tls-validation-flags", to: "0") }
        source = try pipeline.appSource("in")
    }

    var tellsChanges: Bool { false }

    /// Begins to connect. Failures are reported through `fault`.
    func open(onChange: @escaping @Sendable () -> Void) async {
        do throws(Destination.Unreachable) {
            // The element resolves the host again; docs/adr/0015 explains the remaining risk.
            if let destination, destination.limits != nil { _ = try await destination.check(within: .seconds(5)) }
        } catch {
            return progress.withLock { $0.refusal = OutputFault(error.fault) }
        }
        try? await pipeline.play()
    }

    func push(_ tag: OutputTag) {
        let flow = source.push(bytes: tag.bytes, dts: UInt64(tag.timestamp) * 1_000_000)
        progress.withLock { progress in
            if flow == .ok {
                progress.pushed += Int64(tag.size)
                progress.ends.append(progress.pushed)
            } else if progress.refusal == nil {
                progress.refusal = OutputFault(.connectionLost, "the connection is closed")
            }
        }
    }

    var waiting: Int { source.queuedBytes }
    var isWaiting: Bool { waiting > 0 }

    /// Number of bytes of media that the socket has taken. Excludes the tag inside the sink, which may still wait for
    /// the connection.
    var taken: Int64 {
        let waiting = Int64(source.queuedBytes)
        return progress.withLock { progress in
            let atSink = progress.pushed - waiting
            while let end = progress.ends.first, end < atSink {
                progress.sent = end
                progress.ends.removeFirst()
            }
            return progress.sent
        }
    }

    /// Whether any bytes were taken, because the element does not report when the server has accepted the stream.
    var hasBegun: Bool { taken > 0 }
    var silentSince: Int64? { nil }

    var fault: OutputFault? {
        pipeline.firstError.map { OutputFault($0) } ?? progress.withLock { $0.refusal }
    }

    func abandon() { pipeline.tearDownInBackground() }

    func close() async {
        source.endOfStream()
        await pipeline.waitForEnd(atMost: .seconds(2))
        await pipeline.tearDown(within: .seconds(2))
    }
}

extension OutputFault {
    /// Creates a fault from the text of an error, because `rtmp2sink` uses one error domain for nearly everything.
    fileprivate init(_ failure: BusFailure) {
        let words = failure.message.lowercased()
        func says(_ parts: String...) -> Bool { parts.contains { words.contains($0) } }
        let code: OutputErrorCode =
            if says("publish denied", "already exists", "'publish' cmd failed", "unhandled publish result") {
                .publishRefused
            } else if says("not authorized", "authentication", "'connect' cmd failed") {
                .applicationRefused
            } else if says("certificate", "tls", "handshake failed") {
                .tlsFailed
            } else if says("resolv", "name or service", "temporary failure in name") {
                .unresolvable
            } else if says("connection refused") {
                .connectionRefused
            } else if says("unreachable", "no route") {
                .unreachable
            } else if says("timed out", "timeout") {
                .timeout
            } else {
                .connectionLost
            }
        self.init(code, failure.message)
    }
}
