import Foundation
import Logging
import MixModel
import ProgramSplicer
import Synchronization

/// Creates HLS from a program: cuts it into segments, writes them and their playlists, and has renditions transcoded.
///
/// The calling thread writes everything. A failure is reported in the status; writing is retried with the next segment,
/// which then begins with a discontinuity. Decoding happens in the renditions' own processes: one that crashes or is
/// too slow leaves gaps in its own playlist.
public final class Packager: Sendable {
    private let core: Mutex<PackagerCore>
    private let transcoders: [ProgramConsumer<RenditionSettings, RenditionReport>]
    /// Ticker for the transcoders; `nil` without renditions.
    private let ticker: Ticker?

    /// Creates a packager and starts its renditions.
    /// - Parameters:
    ///   - worker: The `mixworker` binary, for renditions.
    ///   - keepFreeBytes: Bytes that a session leaves free on the disk if it keeps all segments.
    ///   - report: Called on any thread whenever the status has changed.
    public init(
        _ plan: PlannedHLS, worker: URL, logger: Logger,
        keepFreeBytes: Int64 = RecordingPlace.defaultKeepFreeBytes, report: @escaping @Sendable (HLSStatus) -> Void
    ) {
        let events = Events()
        transcoders = plan.settings.renditions.enumerated().map { index, rendition in
            ProgramConsumer(
                worker: worker, subcommand: "rendition", settings: RenditionSettings(rendition: rendition),
                preamble: [], label: "hls.\(rendition.name)",
                onEvent: { events.handle?(index, $0) })
        }
        let transcoders = transcoders
        ticker = transcoders.isEmpty ? nil : Ticker { for transcoder in transcoders { transcoder.tick() } }
        core = Mutex(PackagerCore(plan, logger: logger, keepFreeBytes: keepFreeBytes, report: report))
        events.handle = { [weak self] index, event in
            switch event {
            case .report(let message): self?.core.withLock { $0.transcoded(message, rendition: index) }
            case .failed(let reason, _): self?.core.withLock { $0.failed(reason, rendition: index) }
            case .started, .ended: break
            }
        }
        for transcoder in transcoders { transcoder.tick() }
        ticker?.start()
    }

    /// Processes the next bytes of the program, an FLV stream. Waits for the disk.
    ///
    /// - Throws: `FLVReader.Failure`, after which it must not be called again.
    public func push(_ bytes: some Collection<UInt8>) throws {
        try core.withLock { core in
            let tags = try core.push(bytes)
            for transcoder in transcoders { transcoder.send(tags) }
        }
    }

    /// Ends the program and closes the playlists.
    ///
    /// - Parameter isInterrupted: Whether the relay is gone and may come back. The playlists then stay open.
    public func finish(isInterrupted: Bool) async {
        core.withLock { $0.finishProgram() }
        await withTaskGroup(of: Void.self) { group in
            for transcoder in transcoders { group.addTask { await transcoder.end(within: 5) } }
        }
        ticker?.stop()
        core.withLock { $0.finishRenditions(isInterrupted: isInterrupted) }
    }
}

/// Receiver of the renditions' events, set before any of them is started.
private final class Events: Sendable {
    typealias Handler = @Sendable (Int, ProgramConsumer<RenditionSettings, RenditionReport>.Event) -> Void
    private let stored = Mutex<Handler?>(nil)

    var handle: Handler? {
        get { stored.withLock { $0 } }
        set { stored.withLock { $0 = newValue } }
    }
}
