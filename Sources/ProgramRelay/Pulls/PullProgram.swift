import EncodedMedia
import Foundation
import GStreamerKit
import RTMP
import TextFormats

/// The body of `mixworker pull`: plays one source with GStreamer and writes it as FLV.
public struct PullProgram: Sendable {
    /// Opens a file of the directory of media by its path relative to that, and returns its descriptor.
    public typealias OpenFile = @Sendable (_ path: String) throws -> Int32

    let settings: PullSettings
    let redaction: URLRedaction
    private let openFile: OpenFile
    let muxer: PullMuxer
    private let began = MonotonicClock.now()

    /// Time between two looks at whether the stream goes on.
    static let watchInterval = Duration.milliseconds(100)
    /// Longest wait for the first media of a server that listens or is connected to, in seconds.
    static let patience = 15

    /// - Parameters:
    ///   - settings: The first line that the relay sent.
    ///   - write: Takes bytes of the stream, one call at a time, on any thread; may wait.
    /// - Throws: If the settings cannot be read.
    public init(
        settings: [UInt8], openFile: @escaping OpenFile, write: @escaping @Sendable ([UInt8]) -> Void
    ) throws {
        self.settings = try JSONDecoder().decode(PullSettings.self, from: Data(settings))
        redaction = URLRedaction(self.settings.url)
        self.openFile = openFile
        muxer = self.settings.isFed ?? false ? PullMuxer(offset: .zero, write) : PullMuxer(write)
    }

    /// Whether the stream comes with the input, after the settings.
    public var isFed: Bool { settings.isFed ?? false }

    /// Transcodes the stream that comes with the input until it ends; then writes why, if it did not end by itself.
    ///
    /// - Parameter read: Returns the next bytes; `nil` at the end.
    public func transcode(_ read: @Sendable () async -> [UInt8]?) async {
        var program = TranscodingProgram(muxer)
        do throws(PullEnd) { try await program.run(read) } catch { muxer.end(error) }
    }

    /// Plays until the stream has ended, or the task is cancelled; then writes why.
    public func run() async {
        do throws(PullEnd) {
            let address = try PullAddress(settings.url)
            guard let kind = PullProtocols.kind(of: settings.url) as? any WorkerPullKind.Type else {
                throw PullEnd(.badURL, "this URL is not pulled by a worker")
            }
            var head = try kind.head(for: address)
            if head.isSessionDescription { head = try await described(head, address) }
            if head.isSegmented { throw try await playSegments(head, address) }
            var end = try await play(head, address)
            while head.isLooped, end == .ended, !Task.isCancelled {
                muxer.beginRound(after: MediaTime(nanoseconds: MonotonicClock.now() - began))
                end = try await play(head, address)
            }
            throw end
        } catch {
            muxer.end(PullEnd(error.kind, redaction.clean(error.words)))
        }
    }

    /// Plays one pipeline to its end.
    ///
    /// - Parameters:
    ///   - pace: Holds frames back until they are due; `nil` = they come at their rate.
    ///   - feed: Gives the element `source` what there is for it; called again and again. Returns an end, if there is one.
    func play(
        _ head: PullHead, _ address: PullAddress, pace: PullPace? = nil,
        feed: (@Sendable (AppSource) -> PullEnd?)? = nil
    ) async throws(PullEnd) -> PullEnd {
        var descriptor: Int32 = -1
        defer { if descriptor >= 0 { close(descriptor) } }
        if let file = head.file {
            descriptor = try open(file)
        }
        let pipeline: Pipeline
        let source: AppSource?
        do throws(GStreamerError) {
            let carriesH265 = settings.carriesH265 ?? false
            pipeline = try Pipeline(head.pipeline(carriesH265: carriesH265), name: "pull")
            if carriesH265 {
                for decoder in head.decoders {
                    try pipeline.element(decoder).set("caps", to: PullTail.outputs(carriesH265: true))
                }
            }
            for property in head.properties {
                try pipeline.element(property.element).set(property.name, to: property.value)
            }
            if descriptor >= 0 {
                try pipeline.element("source").set("location", to: "/proc/self/fd/\(descriptor)")
            }
            if head.isRendezvous, let local = SocketAddress.local(towards: address.host, port: address.port ?? 0) {
                try pipeline.element("source").set("localaddress", to: "\(local)")
            }
            if head.isRTSP, settings.reach != nil {
                try pipeline.element("source").sendRequestsOnly(to: [address.host, settings.host])
            }
            for sink in head.sinks + (carriesH265 && !head.decoders.isEmpty ? [.h265] : []) {
                try pipeline.appSink(
                    sink.rawValue,
                    onSample: { [muxer] sample in
                        if let pace, let time = sample.decodingRunningTime ?? sample.runningTime {
                            pace.wait(for: MediaTime(nanoseconds: time))
                        }
                        muxer.take(sample, from: sink)
                    },
                    onEndOfStream: { [muxer] in muxer.ended(sink) })
            }
            source = try feed.map { _ throws(GStreamerError) in try pipeline.appSource("source") }
            try await pipeline.play()
        } catch {
            throw PullEnd(error, redaction)
        }
        let end = await watch(pipeline, idleTimeout: feed == nil ? settings.idleTimeout : 0) {
            source.flatMap { feed?($0) }
        }
        pace?.stop()
        await pipeline.tearDown(within: .seconds(1))
        return end
    }

    /// Opens a file of the directory of media.
    func open(_ file: String) throws(PullEnd) -> Int32 {
        do { return try openFile(file) } catch { throw PullEnd(.refused, "the file \(error)") }
    }

    /// - Parameters:
    ///   - idleTimeout: Time without media after which the pull ends, in whole seconds; 0 = never.
    ///   - feed: Gives the pipeline what there is for it; `nil` if it goes on.
    private func watch(_ pipeline: Pipeline, idleTimeout: Int, feed: () -> PullEnd?) async -> PullEnd {
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
            try? await Task.sleep(for: Self.watchInterval)
        }
        return .ended
    }
}
