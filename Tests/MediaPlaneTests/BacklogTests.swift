import Foundation
import MixModel
import Synchronization
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramRelay
@testable import TextFormats

/// Endless output from other processes and servers is not kept without a limit.
@Suite struct BacklogTests {
    @Test func whatIsHandledMakesRoomAndWhatIsNotEndsIt() {
        let backlog = Backlog(limit: 10_000)
        for _ in 0..<100 {
            guard case .taken = backlog.add(5_000) else { return _ = Issue.record("no room") }
            backlog.remove(5_000)
        }
        guard case .taken = backlog.add(9_000), case .exceeded = backlog.add(900), case .over = backlog.add(1) else {
            return _ = Issue.record("no end")
        }
        backlog.remove(9_000)
        guard case .over = backlog.add(1) else { return _ = Issue.record("it goes on") }
    }

    @Test func piecesOfNothingCountToo() {
        let backlog = Backlog(limit: 10_000)
        var taken = 0
        while case .taken = backlog.add(0), taken < 1_000 { taken += 1 }
        #expect(taken < 100)
    }

    @Test func roomIsLeftForWhatMustNotBeLost() {
        let backlog = Backlog(limit: 10_000)
        while backlog.addIfItFits(0, leaving: 5_000) {}
        var others = 0
        while backlog.addIfItFits(0) { others += 1 }
        #expect(others == 5_000 / 128)
    }

    @Test func aBacklogIsEmptyOnceEverythingIsHandled() {
        let backlog = Backlog(limit: 10_000)
        #expect(backlog.isEmpty)
        #expect(backlog.addIfItFits(0) && !backlog.isEmpty, "a piece of nothing waits, too")
        #expect(backlog.addIfItFits(7))
        backlog.remove(7)
        #expect(!backlog.isEmpty)
        backlog.remove(0)
        #expect(backlog.isEmpty)
    }

    @Test func aLineThatIsTooLongIsLeftOutAndTheNextIsRead() throws {
        var lines = LineBuffer(limit: 100)
        let long = [UInt8](repeating: 0x41, count: 60)
        #expect(lines.push(long) == [])
        #expect(lines.push(long) == nil)
        for _ in 0..<1_000 { _ = lines.push(long) }
        #expect(lines.push(long + [0x0A]) == [])
        #expect(lines.push([0x42, 0x0A, 0x43]) == [[0x42]])
        #expect(lines.push([0x44, 0x0A]) == [[0x43, 0x44]])
        // A line complete in one piece.
        #expect(lines.push(long + long + [0x0A, 0x45, 0x0A]) == nil)
        #expect(lines.push([0x46, 0x0A]) == [[0x46]])
    }

    @Test func manyShortLinesAreReadInNoTime() throws {
        var lines = LineBuffer()
        let start = ContinuousClock.now
        #expect(lines.push([UInt8](repeating: 0x0A, count: 1 << 19))?.count == 1 << 19)
        #expect(ContinuousClock.now - start < .seconds(10))
    }

    /// A runaway mixer ends once, and no further output of it is kept.
    @Test func anUnreadableMixerIsToldOfOnce() throws {
        let told = Mutex<[String]>([])
        let reader = ReportReader(backlog: Backlog(limit: 1 << 20), clock: { .zero }) { event in
            if case .unreadable(let reason) = event { told.withLock { $0.append(reason) } }
        }
        for _ in 0..<100 { reader.push([UInt8](repeating: 0xFF, count: 1 << 16)) }
        #expect(told.withLock { $0.count } == 1)
        #expect(told.withLock { $0.first }?.contains("message length") == true)
    }

    @Test func aMixerWhoseReportsNobodyHandlesIsGivenUp() throws {
        let told = Mutex<(reports: Int, reasons: [String])>((0, []))
        let reader = ReportReader(backlog: Backlog(limit: 1 << 20), clock: { .zero }) { event in
            told.withLock { told in
                if case .unreadable(let reason) = event { told.reasons.append(reason) } else { told.reports += 1 }
            }
        }
        let frame = EncodedFrame(track: .audio, pts: .zero, dts: .zero, payload: [UInt8](repeating: 1, count: 1000))
        let bytes = try MixerReport.frame(frame).wireBytes()
        for _ in 0..<3_000 { reader.push(bytes) }
        #expect(
            told.withLock { 500..<1_100 ~= $0.reports && $0.reasons == ["more than 1 MiB of its reports are pending"] })
    }

    /// The relay handles each report as soon as it is read, so nothing of a mixer that floods it is ever pending.
    @Test func aMixerThatIsFasterThanTimeIsGivenUp() throws {
        let backlog = Backlog(limit: 1 << 20)
        let told = Mutex<(reports: Int, reasons: [String])>((0, []))
        let reader = ReportReader(backlog: backlog, clock: { .seconds(60) }) { event in
            if case .report(let report) = event { backlog.remove(report.footprint) }
            told.withLock { told in
                if case .unreadable(let reason) = event { told.reasons.append(reason) } else { told.reports += 1 }
            }
        }
        for milliseconds in 60_000..<70_000 {
            let time = MediaTime.milliseconds(milliseconds)
            let picture = EncodedFrame(track: .video, pts: time, dts: time, isIDR: true, payload: [1])
            reader.push(try MixerReport.frame(picture).wireBytes())
        }
        let (reports, reasons) = told.withLock { $0 }
        #expect(reports == 1_001)
        #expect(reasons == ["floods the relay: it sends frames more than 1 s before their time"])
    }

    /// Sound alone has no keyframe that makes older frames unnecessary.
    @Test func whatADestinationNeverConfirmsIsNotKeptForEver() {
        var queue = OutputQueue(limits: .init(milliseconds: 8_000, bytes: 100_000))
        var most = 0
        for index in 0..<5_000 {
            queue.append(
                OutputTag(
                    FLVTag(
                        role: .frame(.audio, isIDR: false), timestamp: UInt32(index * 21),
                        body: [0xAF, 1] + [UInt8](repeating: 1, count: 98))))
            _ = queue.take(1 << 20)
            most = max(most, queue.unconfirmed?.count ?? 0)
        }
        #expect(100...500 ~= most)
    }

    @Test func whatARecorderSaysCanBeAddedUp() throws {
        let consumer = RecordingSlot.Consumer(
            worker: URL(filePath: "/none"), subcommand: "recorder",
            settings: RecorderSettings(
                room: "r", task: "t",
                recording: PlannedRecording(
                    settings: RecordingSettings(id: "x", startedAt: 1e300), directory: "/none", keepFreeBytes: 0)),
            preamble: [], label: "test", onEvent: { _ in })
        var slot = RecordingSlot(
            key: .init(recording: "x", number: 1),
            planned: PlannedRecording(settings: RecordingSettings(id: "x"), directory: "/none", keepFreeBytes: 0),
            consumer: consumer)
        for seconds in [1e308, -1e308, 1e18] {
            for state: RecordingStatus.State in [.recording, .ended] {
                let report = RecorderReport(state: state, file: "a", files: .max, seconds: seconds, bytes: .max)
                _ = slot.take(.report(report))
                _ = slot.take(.started(processID: 1))
                _ = slot.take(.report(RecorderReport(state: state, files: .min, seconds: seconds, bytes: .min)))
            }
            _ = slot.take(.ended)
            let status = slot.status
            #expect(status.files >= 0 && status.bytes >= 0 && status.seconds >= 0)
            #expect((try? JSONEncoder().encode(status)) != nil)
        }
        for seconds in [-1, 1e300, .infinity, .nan, 2e12] { #expect(UTCTime(seconds).compact.count == 16) }
        #expect(UTCTime(0).compact == "19700101T000000Z")
    }

    @Test func whatASourceSaysOfItsRateCanBeTold() throws {
        let source = PulledSource(planned: PlannedSource(id: "a/b", url: "rtmp://h/a/b"), now: .zero)
        _ = source.timeline.accept(
            .configuration(CodecConfiguration(track: .video, bytes: [1])), arrival: .zero, as: .init(isOnAir: false))
        for index in 0..<10 {
            let frame = EncodedFrame(track: .video, pts: .zero, dts: .zero, isIDR: true, payload: [])
            _ = source.timeline.accept(
                .frame(frame), arrival: .milliseconds(index), as: .init(isOnAir: true, isCopied: true))
        }
        #expect((try? DocumentEncoder.json(source.status(now: .milliseconds(20)))) != nil)
    }
}
