import Foundation
import Testing

@testable import ViewerProbe

/// Publisher, media server and probe alone, without the service: a test of the other tests' instruments.
@Suite(.serialized) struct ViewerTests {
    private func withMediaServer(_ body: (URL, MediaServer) async throws -> Void) async throws {
        let directory = try Workspace.makeDirectory()
        let media = try await MediaServer.start(in: directory)
        do {
            try await body(directory, media)
        } catch {
            await media.stop()
            throw error
        }
        await media.stop()
        try? FileManager.default.removeItem(at: directory)
    }

    /// A stream straight from its publisher is within every limit; otherwise the probe or the media server is at fault.
    @Test(.timeLimit(.minutes(4))) func aStreamWithoutTheServiceIsWithinLimits() async throws {
        try await withMediaServer { directory, media in
            let source = SyntheticPublisher(id: 3, bFrames: 2)
            let url = media.live("a")
            let publisher = try ManagedProcess("publisher", "ffmpeg", source.arguments(url: url), in: directory)
            let recorder = ProbeRecorder(url: url, path: directory.appendingPathComponent("a.flv").path)
            try recorder.start()
            try await waitUntil("six seconds of stream") { recorder.progress.timestamp > 6000 }
            recorder.stop()
            let report = try await Probe.judge(
                await recorder.recording(), ProbeConfiguration(publishers: [source], expectedSwitches: 0))
            await publisher.stop()
            #expect(report.isWithinLimits, "\(report.table)")
            #expect(report.sources.map(\.id) == [3])
        }
    }

    /// A publisher that comes back under the same name counts as a reconnect, even if the viewer's own connection
    /// survives.
    @Test(.timeLimit(.minutes(4))) func aPublisherThatReconnectsIsNoticed() async throws {
        try await withMediaServer { directory, media in
            let source = SyntheticPublisher(id: 3, gopSeconds: 0.5)
            let url = media.live("a")
            let first = try ManagedProcess("publisher-1", "ffmpeg", source.arguments(url: url), in: directory)
            let recorder = ProbeRecorder(url: url, path: directory.appendingPathComponent("a.flv").path)
            try recorder.start()
            try await waitUntil("two seconds of stream") { recorder.progress.timestamp > 2000 }
            await first.stop()
            let tags = recorder.progress.tags
            let second = try ManagedProcess("publisher-2", "ffmpeg", source.arguments(url: url), in: directory)
            try await waitUntil("the stream comes back") { recorder.progress.tags > tags + 100 }
            recorder.stop()
            let report = try await Probe.judge(
                await recorder.recording(), ProbeConfiguration(publishers: [source]))
            await second.stop()
            #expect(report.connections == 1)
            #expect(report.publisherLosses == 1)
            #expect(!report.isWithinLimits)
            #expect(report.backwardTimestamps > 0)
        }
    }
}
