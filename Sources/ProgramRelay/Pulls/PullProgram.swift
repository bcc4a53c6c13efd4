import EncodedMedia
import Foundation
import GStreamerKit
import RTMP
import TextFormats

/// The body of `mixworker pull`: plays one source with GStreamer and writes it as FLV.
public struct PullProgram: Sendable {
    /// Opens a file of the directory of media by its path relative to that, and returns its descriptor.
    public typealias OpenFile = @Sendable (_ path: String) throws -> Int32

    private let settings: PullSettings
    private let redaction: URLRedaction
    private let openFile: OpenFile
    private let muxer: PullMuxer
    private let began = MonotonicClock.now()

    /// Time between two looks at whether the stream goes on.
    private static let watchInterval = Duration.milliseconds(100)
    /// Longest wait for the first media of a server that listens or is connected to, in seconds.
    private static let patience = 15

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
        muxer = PullMuxer(write)
    }

    /// Plays until the stream has ended, or the task is cancelled; then writes why.
    public func run() async {
        do throws(PullEnd) {
            let address = try PullAddress(settings.url)
            guard let kind = PullProtocols.kind(of: settings.url) as? any WorkerPullKind.Type else {
                throw PullEnd(.badURL, "this URL is not pulled by a worker")
            }
            let head = try kind.head(for: address)
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
    private func play(_ head: PullHead, _ address: PullAddress) async throws(PullEnd) -> PullEnd {
        var descriptor: Int32 = -1
        defer { if descriptor >= 0 { close(descriptor) } }
        if let file = head.file {
            do { descriptor = try openFile(file) } catch {
                throw PullEnd(.refused, "the file \(error)")
            }
        }
        let pipeline: Pipeline
        do throws(GStreamerError) {
            pipeline = try Pipeline(head.pipeline, name: "pull")
            for property in head.properties {
                try pipeline.element(property.element).set(property.name, to: property.value)
            }
            if descriptor >= 0 {
                try pipeline.element("source").set("location", to: "/proc/self/fd/\(descriptor)")
            }
            if head.isRTSP, settings.reach != nil {
                try pipeline.element("source").sendRequestsOnly(to: [address.host, settings.host])
            }
            for sink in head.sinks {
                try pipeline.appSink(
                    sink.rawValue, onSample: { [muxer] in muxer.take($0, from: sink) },
                    onEndOfStream: { [muxer] in muxer.ended(sink) })
            }
            try await pipeline.play()
        } catch {
            throw PullEnd(error, redaction)
        }
        let end = await watch(pipeline)
        await pipeline.tearDown(within: .seconds(1))
        return end
    }

    private func watch(_ pipeline: Pipeline) async -> PullEnd {
        let start = MonotonicClock.now()
        while !Task.isCancelled {
            if let failure = pipeline.firstError { return PullEnd(failure, redaction) }
            if muxer.hasEnded { return .ended }
            let last = muxer.lastMedia.map { max($0, start) }
            let silence = Int((MonotonicClock.now() - (last ?? start)) / 1_000_000_000)
            if last == nil, silence >= Self.patience { return .noMedia }
            if last != nil, settings.idleTimeout > 0, silence >= settings.idleTimeout {
                return PullEnd(.timedOut, "timed out: no media for \(settings.idleTimeout) s")
            }
            try? await Task.sleep(for: Self.watchInterval)
        }
        return .ended
    }
}
