import EncodedMedia
import Foundation
import GStreamerKit
import RTMP
import TextFormats

/// The body of `mixworker pull`: plays one source with GStreamer and writes it as FLV.
public struct PullProgram: Sendable {
    /// Opens a file by its path relative to the media directory, and returns its descriptor.
    public typealias OpenFile = @Sendable (_ path: String) throws -> Int32

    let settings: PullSettings
    let redaction: URLRedaction
    private let openFile: OpenFile
    let muxer: PullMuxer

    /// Time between two checks of whether the stream continues.
    static let watchInterval = Duration.milliseconds(100)
    /// The same for a looped file: viewers see how late its end is noticed.
    private static let roundInterval = Duration.milliseconds(10)
    /// Shortest time between two starts of a file, in ns, so that a file with a single picture does not occupy a core.
    private static let shortestRound: Int64 = 500_000_000
    /// Longest wait for the first media of a listener or a connection, in seconds.
    static let patience = 15

    /// - Parameters:
    ///   - settings: The first line that the relay sent.
    ///   - write: Called with bytes of the stream, one call at a time, on any thread; may block.
    /// - Throws: If the settings cannot be read.
    public init(
        settings: [UInt8], openFile: @escaping OpenFile, write: @escaping @Sendable ([UInt8]) -> Void
    ) throws {
        self.settings = try JSONDecoder().decode(PullSettings.self, from: Data(settings))
        redaction = URLRedaction(self.settings.url)
        self.openFile = openFile
        muxer = self.settings.isFed ?? false ? PullMuxer(offset: .zero, write) : PullMuxer(write)
    }

    /// Whether the stream follows the settings in the input.
    public var isFed: Bool { settings.isFed ?? false }

    /// Transcodes the stream in the input until it ends; then writes the reason, if it did not end by itself.
    ///
    /// - Parameter read: Returns the next bytes; `nil` at the end.
    public func transcode(_ read: @Sendable () async -> [UInt8]?) async {
        var program = TranscodingProgram(muxer)
        do throws(PullEnd) { try await program.run(read) } catch { muxer.end(error) }
    }

    /// Plays until the stream has ended, or the task is cancelled; then writes the reason.
    public func run() async {
        do throws(PullEnd) {
            let address = try PullAddress(settings.url)
            guard let kind = PullProtocols.kind(of: settings.url) as? any WorkerPullKind.Type else {
                throw PullEnd(.badURL, "this URL is not pulled by a worker")
            }
            let latency = settings.latency ?? kind.options.latency ?? .zero
            var head = try kind.head(for: address, latency: latency)
            if head.isSessionDescription { head = try await described(head, address, latency) }
            if head.isSegmented { throw try await playSegments(head, address) }
            throw head.isLooped ? try await playAgain(head, address) : try await play(head, address)
        } catch {
            muxer.end(PullEnd(error.kind, redaction.clean(error.words)))
        }
    }

    /// Plays one pipeline to its end.
    ///
    /// - Parameters:
    ///   - pace: Delays frames until they are due; `nil` if they arrive at their own rate.
    ///   - alignment: Puts the tracks onto one clock; `nil` if they already are.
    ///   - feed: Pushes available segments to their elements; called repeatedly. Returns an end, if there is one.
    func play(
        _ head: PullHead, _ address: PullAddress, pace: PullPace? = nil, alignment: TrackAlignment? = nil,
        feed: (@Sendable ([AppSource]) -> PullEnd?)? = nil
    ) async throws(PullEnd) -> PullEnd {
        let playing = try make(head, address, pace: pace, alignment: alignment)
        try await playing.start(redaction)
        let end = await watch(playing.pipeline, idleTimeout: feed == nil ? settings.idleTimeout : 0) {
            feed?(playing.sources)
        }
        await playing.end()
        return end
    }

    /// Plays a file repeatedly. While one round plays, the next one is already opened.
    private func playAgain(_ head: PullHead, _ address: PullAddress) async throws(PullEnd) -> PullEnd {
        var playing = try make(head, address)
        try await playing.start(redaction)
        while true {
            let start = MonotonicClock.now()
            let next = try make(head, address)
            try await next.prepare(redaction)
            let end = await watch(
                playing.pipeline, idleTimeout: settings.idleTimeout, every: Self.roundInterval, feed: { nil })
            guard end == .ended, !Task.isCancelled else {
                await next.end()
                await playing.end()
                return end
            }
            let rest = start + Self.shortestRound - MonotonicClock.now()
            if rest > 0 { try? await Task.sleep(for: .nanoseconds(rest)) }
            muxer.beginRound()
            try await next.start(redaction)
            await playing.end()
            playing = next
        }
    }

    private func make(
        _ head: PullHead, _ address: PullAddress, pace: PullPace? = nil, alignment: TrackAlignment? = nil
    ) throws(PullEnd) -> PullPipeline {
        let file = try head.file.map { path throws(PullEnd) in PullPipeline.File(try open(path)) }
        return try PullPipeline(head, address, self, file: file, pace: pace, alignment: alignment)
    }

    /// Opens a file of the media directory.
    func open(_ file: String) throws(PullEnd) -> Int32 {
        do { return try openFile(file) } catch { throw PullEnd(.refused, "the file \(error)") }
    }

    /// - Parameters:
    ///   - idleTimeout: Time without media after which the pull ends, in whole seconds; 0 means never.
    ///   - interval: Time between two checks.
    ///   - feed: Pushes available data to the pipeline; returns `nil` if it continues.
    private func watch(
        _ pipeline: Pipeline, idleTimeout: Int, every interval: Duration = watchInterval, feed: () -> PullEnd?
    ) async -> PullEnd {
        let start = MonotonicClock.now()
        while !Task.isCancelled {
            if let failure = pipeline.firstError { return PullEnd(failure, redaction) }
            if let end = feed() { return end }
            if muxer.hasEnded { return .ended }
            let last = muxer.lastMedia.map { max($0, start) }
            let silence = Int((MonotonicClock.now() - (last ?? start)) / 1_000_000_000)
            if last == nil, silence >= Self.patience { return .noMedia }
            if last != nil, idleTimeout > 0, silence >= idleTimeout {
                return PullEnd(.timedOut, "timed out: no media for \(idleTimeout) s")
            }
            try? await Task.sleep(for: interval)
        }
        return .ended
    }
}
