import EncodedMedia
import Foundation
import MediaFormats
import Synchronization

/// Records the stream that a viewer of an RTMP or HTTP-FLV address receives, on a separate thread.
///
/// Nothing is decoded during the recording, so that judging does not disturb the stream. A lost connection is made
/// again and counted.
public final class ProbeRecorder: Sendable {
    /// The state of the recording so far.
    public struct Progress: Sendable {
        public var connections = 0
        public var tags = 0
        /// Number of video tags, including sequence headers.
        public var videoTags = 0
        public var bytes = 0
        /// Timestamp of the last tag in ms.
        public var timestamp: UInt32 = 0
        public var lastError: ProbeError?
    }

    private struct State {
        var progress = Progress()
        var isStopped = false
        var recording: FLVRecording?
        var waiters: [CheckedContinuation<FLVRecording, Never>] = []
    }

    private let url: String
    private let path: String
    private let retries: Bool
    private let state = Mutex(State())

    /// - Parameters:
    ///   - url: `rtmp://host[:port]/application/name` or `http://host[:port]/….flv`.
    ///   - path: Path of the FLV file to write.
    ///   - retries: Whether to reconnect after the stream ends, until stopped; otherwise the end of the received stream
    ///     ends the recording.
    public init(url: String, path: String, retries: Bool = true) {
        self.url = url
        self.path = path
        self.retries = retries
    }

    public var progress: Progress { state.withLock { $0.progress } }

    /// Begins the recording. Call once.
    public func start() throws(ProbeError) {
        guard FileManager.default.createFile(atPath: path, contents: Data(FLVTag.fileHeader)),
            let file = FileHandle(forWritingAtPath: path)
        else { throw .file("cannot write \(path)") }
        let thread = Thread { [self] in record(to: file) }
        thread.name = "probe"
        thread.start()
    }

    /// Ends the recording within 0.2 s; `recording()` then returns it.
    public func stop() { state.withLock { $0.isStopped = true } }

    /// Returns the finished recording. Suspends until the recorder has been stopped or the stream has ended.
    public func recording() async -> FLVRecording {
        await withCheckedContinuation { continuation in
            let finished = state.withLock { state in
                if state.recording == nil { state.waiters.append(continuation) }
                return state.recording
            }
            if let finished { continuation.resume(returning: finished) }
        }
    }

    private var isStopped: Bool { state.withLock { $0.isStopped } }

    private func record(to file: FileHandle) {
        var arrivals: [Int64] = []
        var losses = 0
        _ = try? file.seekToEnd()
        func take(_ tag: [UInt8]) throws(ProbeError) {
            arrivals.append(MonotonicClock.now())
            do { try file.write(contentsOf: tag) } catch { throw .file("cannot write \(path): \(error)") }
            let header = FLVTagHeader(tag, at: 0)
            state.withLock { state in
                state.progress.tags += 1
                if (header?.kind ?? 0) & 0x1F == FLVTag.Kind.video.rawValue { state.progress.videoTags += 1 }
                state.progress.bytes += tag.count
                state.progress.timestamp = header?.timestamp ?? 0
            }
        }
        while !isStopped {
            var received = false
            func note() {
                if !received { state.withLock { $0.progress.connections += 1 } }
                received = true
            }
            do {
                if url.hasPrefix("rtmp:") {
                    let player = try RTMPPlayer(url: url) { [self] in isStopped }
                    defer { losses += player.unpublished }
                    while true {
                        let message = try player.next()
                        note()
                        try take(Self.tag(message))
                    }
                } else {
                    let player = try HTTPFLVPlayer(url: url) { [self] in isStopped }
                    while true {
                        let tag = try player.next()
                        note()
                        try take(tag)
                    }
                }
            } catch ProbeError.cancelled {
                break
            } catch {
                state.withLock { $0.progress.lastError = error }
                if case .badURL = error { break }
                if case .file = error { break }
                if received && !retries { break }
            }
            Thread.sleep(forTimeInterval: 0.2)
        }
        try? file.close()
        finish(arrivals: arrivals, losses: losses)
    }

    private func finish(arrivals: [Int64], losses: Int) {
        let (recording, waiters) = state.withLock { state in
            let recording = FLVRecording(
                path: path, arrivals: arrivals, connections: state.progress.connections, publisherLosses: losses,
                lastError: state.progress.lastError)
            state.recording = recording
            defer { state.waiters = [] }
            return (recording, state.waiters)
        }
        try? recording.saveArrivals()
        for waiter in waiters { waiter.resume(returning: recording) }
    }

    private static func tag(_ message: RTMPPlayer.Message) -> [UInt8] {
        var tag: [UInt8] = []
        tag.appendFLVTag(message.kind, timestamp: message.timestamp, body: message.body)
        return tag
    }
}
