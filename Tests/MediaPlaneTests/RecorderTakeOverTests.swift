import Foundation
import MixModel
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramRelay

/// What a recorder does with the parts that an earlier one of the same recording has left.
@Suite struct RecorderTakeOverTests {
    @Test func theNumberOfADeletedPartIsNotUsedAgain() throws {
        let bench = try RecorderBench()
        defer { bench.remove() }
        var settings = bench.settings
        settings.recording.settings.partSeconds = 2
        try Self.record(6, settings, isLost: true)
        #expect(try bench.manifests().map(\.state) == [.complete, .complete, .recording])
        // An operator deletes what is no longer needed.
        try FileManager.default.removeItem(atPath: bench.path(settings.fileName(part: 1)))
        try FileManager.default.removeItem(atPath: RecordingParts(settings).manifestPath(1))
        try Self.record(6, settings)
        let manifests = try bench.manifests()
        #expect(manifests.map(\.part) == [2, 3, 4, 5, 6])
        #expect(manifests.allSatisfy { $0.state == .complete })
        #expect(manifests[1].endReason == "recorderLost")
    }

    /// It may have been made read-only, or be long.
    @Test func aPartThatIsCompleteIsNotOpened() throws {
        let bench = try RecorderBench()
        defer { bench.remove() }
        var settings = bench.settings
        settings.recording.settings.partSeconds = 2
        try Self.record(4, settings)
        let first = bench.path(settings.fileName(part: 1))
        try FileManager.default.removeItem(atPath: first)
        try FileManager.default.createDirectory(atPath: first, withIntermediateDirectories: false)
        try Self.record(4, settings)
        #expect(try bench.manifests().map(\.part) == [1, 2, 3, 4])
    }

    @Test(arguments: [false, true]) func theLimitOfARecordingCountsWhatEarlierRecordersWrote(isSingle: Bool) throws {
        let bench = try RecorderBench()
        defer { bench.remove() }
        var settings = bench.settings
        settings.recording.settings.maxSeconds = 9
        settings.recording.settings.singleFilePerLayer = isSingle
        settings.recording.settings.leavesOutGaps = isSingle
        #expect(try Self.record(6, settings)?.state == .recording)
        #expect(try Self.record(6, settings)?.state == .ended)
        let manifests = try bench.manifests()
        let seconds = manifests.reduce(0) { $0 + $1.duration }
        #expect(manifests.count == (isSingle ? 1 : 2) && 8.9...10.1 ~= seconds, "\(seconds)")
        // The relay of the next day has the same plan.
        let last = try Self.record(6, settings)
        #expect(last?.state == .ended && abs((last?.seconds ?? 0) - seconds) < 0.01)
        #expect(try bench.manifests() == manifests)
        settings.recording.settings.maxSeconds = nil
        settings.recording.settings.maxBytes = 1_000
        #expect(try Self.record(6, settings)?.state == .ended)
        #expect(try bench.manifests() == manifests)
    }

    @Test func partsHaveALimit() throws {
        let bench = try RecorderBench()
        defer { bench.remove() }
        let last = bench.path(bench.settings.fileName(part: RecordingParts.most))
        try FileManager.default.createDirectory(
            atPath: bench.settings.recording.directory, withIntermediateDirectories: true)
        try Data().write(to: URL(filePath: last))
        let report = try Self.record(2, bench.settings)
        #expect(report?.state == .failed && report?.error?.code == "too_many_files")
    }

    /// Files of two nodes are uploaded to one place, and each node numbers its own.
    @Test func nodesNeverUseOneName() throws {
        let bench = try RecorderBench()
        defer { bench.remove() }
        var settings = bench.settings
        let alone = settings.fileName(part: 2)
        settings.recording.node = "b"
        #expect(settings.fileName(part: 2) == alone.replacing("-2.mp4", with: "-on-b-2.mp4"))
        let parts = RecordingParts(settings)
        #expect(parts.number(of: settings.fileName(part: 1)) == 1)
        #expect(parts.number(of: settings.fileName(part: 12)) == 12)
        #expect(parts.number(of: alone) == nil)
        #expect(RecordingParts(bench.settings).number(of: settings.fileName(part: 1)) == nil)
        var other = settings
        other.recording.node = "b-2"
        #expect(other.fileName(part: 1) == alone.replacing("-2.mp4", with: "-on-b~2d2.mp4"))
        #expect(parts.number(of: other.fileName(part: 1)) == nil)
        settings.source = "alice/camera"
        #expect(settings.fileName(part: 1).hasSuffix("-on-b-alice~2fcamera.mp4"))
        #expect(FileName.isRecording(settings.fileName(part: 1)))
    }

    @Test func onlyNamesOfTheRecordingHaveNumbers() throws {
        let bench = try RecorderBench()
        defer { bench.remove() }
        let parts = RecordingParts(bench.settings)
        let stem = bench.settings.stem
        for number in [1, 2, 10, RecordingParts.most] {
            let name = bench.settings.fileName(part: number)
            #expect(parts.number(of: name) == number)
            #expect(parts.number(of: name.dropLast(4) + ".json") == number)
        }
        for end in [
            "", ".jpg", "-.mp4", "-0.mp4", "-1.mp4", "-02.mp4", "-+2.mp4", "--2.mp4", "-2.mp4.spare", "-1000001.mp4",
            "-99999999999999999999.mp4", ".upload-main.json", "-2.upload-main.json", "-alice~2fcamera-2.mp4", "2.mp4",
        ] { #expect(parts.number(of: stem + end) == nil, "\(end)") }
        #expect(parts.number(of: "other.mp4") == nil)
    }

    /// Records a program with one recorder.
    /// - Parameter isLost: Whether the recorder ends without closing its files.
    /// - Returns: Its last report.
    @discardableResult
    private static func record(
        _ seconds: Int, _ settings: RecorderSettings, isLost: Bool = false
    ) throws -> RecorderReport? {
        var last: RecorderReport?
        let recorder = Recorder(settings: settings) { last = $0 }
        try recorder.push(program(seconds: seconds))
        if !isLost { recorder.finish() }
        return last
    }

    /// Returns a program with a keyframe each second, which need not be decodable.
    private static func program(seconds: Int) -> [UInt8] {
        let sps: [UInt8] = [0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x7B, 0x01, 0x10]
        let pps: [UInt8] = [0x68, 0xCE, 0x38, 0x80]
        let record: [UInt8] =
            [1, 0x42, 0xC0, 0x0A, 0xFF, 0xE1, 0, UInt8(sps.count)] + sps + [1, 0, UInt8(pps.count)] + pps
        return FLVTag.fileHeader + FLVTag.program(record, from: 20_000, seconds: seconds)
    }
}
