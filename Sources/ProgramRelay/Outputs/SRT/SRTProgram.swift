import EncodedMedia
import Foundation
import GStreamerKit
import MediaFormats
import RTMP
import Synchronization
import TextFormats

/// The body of `mixworker push` for SRT: sends a program, which arrives as FLV, as MPEG-TS.
public final class SRTProgram: Sendable {
    private struct State {
        var reader = FLVReader()
        var packets = ProgramPackets()
        /// Number of bytes of FLV that were read; below, of MPEG-TS that were pushed to the pipeline.
        var read: Int64 = 0
        var given: Int64 = 0
        /// For each push that may not be sent yet: the count of `given` after it, and that of `read`.
        var marks: [(given: Int64, read: Int64)] = []
        var taken: Int64 = 0
        var loss = SRTLoss()
        var isOver = false
        /// Whether the relay is gone, so that nothing more may be sent.
        var isAbandoned = false
    }

    private static let interval = Duration.milliseconds(50)

    private let pipeline: Pipeline
    private let source: AppSource
    /// The element that counts lost packets; `nil` for a listener, which counts them for each of its callers.
    private let sink: Element?
    private let redaction: URLRedaction
    /// Time in which a receiver takes the last packets.
    private let farewell: Duration
    private let report: @Sendable ([UInt8]) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - settings: The first line that the relay sent.
    ///   - report: Called with lines for the relay.
    /// - Throws: An error without secrets if no connection can be made.
    public init(settings: [UInt8], report: @escaping @Sendable ([UInt8]) -> Void) throws {
        let settings = try JSONDecoder().decode(PushSettings.self, from: Data(settings))
        let address = try PullAddress(settings.url)
        let options = try SRTOptions(address)
        redaction = URLRedaction(settings.url)
        farewell = .milliseconds(min(options.latency, 500) + 100)
        self.report = report
        // A caller waits for its peer with the first buffer; a listener sends to all connected callers.
        pipeline = try Pipeline(
            """
            appsrc name=in caps=video/mpegts,systemstream=true,packetsize=188 format=time block=true max-bytes=262144 \
            ! srtsink name=sink auto-reconnect=false sync=false async=false \
            wait-for-connection=\(options.mode != .listener)
            """, name: "push")
        for property in options.properties { try pipeline.element("sink").set(property.name, to: property.value) }
        if options.mode == .rendezvous, let local = SocketAddress.local(towards: address.host, port: address.port ?? 0)
        {
            try pipeline.element("sink").set("localaddress", to: "\(local)")
        }
        source = try pipeline.appSource("in")
        sink = options.mode == .listener ? nil : try pipeline.element("sink")
    }

    /// Connects, and sends the program until it ends or the connection fails. Reports to the relay how much is sent.
    ///
    /// - Parameter read: Returns the next bytes of the program, `nil` at its end. It may block; called on a separate
    ///   thread.
    public func run(reading read: @escaping @Sendable () -> [UInt8]?) async {
        do {
            try await pipeline.play()
            // Earlier, the source would refuse buffers.
            Thread.detachNewThread { [self] in
                while let bytes = read(), !state.withLock({ $0.isAbandoned }), (try? push(bytes)) != nil {}
                state.withLock { $0.isOver = true }
            }
            while !state.withLock({ $0.isOver }) {
                if let failure = pipeline.firstError {
                    fail(failure.message)
                    break
                }
                tellTaken()
                tellLoss()
                try? await Task.sleep(for: Self.interval)
            }
        } catch {
            fail(pipeline.firstError?.message ?? "\(error)")
        }
        guard !state.withLock({ $0.isAbandoned }) else {
            // What waits in the queue is dropped, and the receiver is told that the connection ends.
            await pipeline.tearDown(within: .seconds(1))
            return
        }
        source.endOfStream()
        await pipeline.waitForEnd(atMost: .seconds(1))
        // A receiver discards its buffered packets when the connection is closed.
        if pipeline.firstError == nil { try? await Task.sleep(for: farewell) }
        tellTaken()
        await pipeline.tearDown(within: .seconds(1))
    }

    /// Makes `run` return soon without sending what waits, because the relay is gone and another one may send the program.
    /// May be called from any thread.
    package func abandon() {
        state.withLock { state in
            state.isAbandoned = true
            state.isOver = true
        }
    }

    /// Pushes the next bytes of the program to the pipeline. Waits while the connection is behind.
    ///
    /// - Throws: `FLVReader.Failure`, after which it must not be called again.
    private func push(_ bytes: [UInt8]) throws {
        let made = try state.withLock { state in
            state.read += Int64(bytes.count)
            let items = try state.reader.push(bytes)
            let made = state.packets.bytes(of: items)
            state.given += Int64(made.count)
            // Of pushes that produce no packets, only the last is kept.
            if made.isEmpty, !state.marks.isEmpty { state.marks.removeLast() }
            state.marks.append((state.given, state.read))
            return made
        }
        if !made.isEmpty { source.push(bytes: made) }
    }

    private func tellTaken() {
        let waiting = Int64(source.queuedBytes)
        let news = state.withLock { state -> Int64? in
            // The last buffer that has left the queue may wait for the connection inside the sink.
            let atSink = state.given - waiting
            let before = state.taken
            while let mark = state.marks.first, mark.given < atSink {
                // The relay does not count the FLV header.
                state.taken = max(0, mark.read - Int64(FLVTag.fileHeader.count))
                state.marks.removeFirst()
            }
            return state.taken > before ? state.taken : nil
        }
        if let news { tell(.taken(bytes: news)) }
    }

    /// Asks for a keyframe after packets were dropped that the peer did not take within the latency: the rest of their
    /// group of pictures cannot be decoded.
    private func tellLoss() {
        guard let dropped = sink?.statistic("bytes-sent-dropped") else { return }
        let now = MediaTime(nanoseconds: MonotonicClock.now())
        let isNeeded = state.withLock { $0.loss.needsKeyframe(dropped: dropped, now: now) }
        if isNeeded { tell(.keyframeWanted) }
    }

    private func fail(_ words: String) {
        let isRefusal = ["rejected", "authenticate", "password"].contains { words.lowercased().contains($0) }
        let cause =
            isRefusal ? "the peer refuses the connection, check the encryption and the name of the stream: " : ""
        tell(.failed(isRefusal: isRefusal, words: cause + redaction.clean(words)))
    }

    private func tell(_ message: PushReport) {
        guard let data = try? JSONEncoder().encode(message) else { return }
        report([UInt8](data) + [0x0A])
    }
}
