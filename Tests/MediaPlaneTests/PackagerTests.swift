import Foundation
import Logging
import MixModel
import Synchronization
import TestSupport
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramRelay

/// The packager on a real disk, fed with a program that need not be decodable.
@Suite struct PackagerTests {
    /// A packager's directory and its reports.
    private final class Bench: Sendable {
        let directory = NSTemporaryDirectory() + "hls-packager-\(UUID().uuidString)"
        let told = Mutex<[HLSStatus]>([])

        func packager(
            _ settings: HLSSettings = HLSSettings(windowSeconds: 12), keepFreeBytes: Int64 = 0
        ) -> Packager {
            Packager(
                PlannedHLS(directory: "\(directory)/room", settings: settings),
                worker: URL(fileURLWithPath: "/nowhere/mixworker"), logger: Logger(label: "test"),
                keepFreeBytes: keepFreeBytes
            ) { [self] status in told.withLock { $0.append(status) } }
        }

        var status: HLSStatus? { told.withLock { $0.last } }
        /// Session of the last report; reports no longer name a closed one.
        var session: String {
            let name = told.withLock { $0.compactMap(\.session).last }
            return "\(directory)/room/\(name ?? "none")"
        }

        func text(_ name: String) throws -> String { try String(contentsOfFile: "\(session)/\(name)", encoding: .utf8) }
        /// Returns an inspector of a playlist as it is now.
        func playlist(_ name: String) throws -> PlaylistInspector {
            var inspector = PlaylistInspector()
            inspector.take(try text(name))
            return inspector
        }
        var files: [String] { (try? FileManager.default.contentsOfDirectory(atPath: session)) ?? [] }
        func remove() { try? FileManager.default.removeItem(atPath: directory) }
    }

    /// Returns FLV of some seconds from `start` on, with a keyframe each second; the header and configurations first.
    private static func program(from start: Int, seconds: Int, picture: UInt8 = 1) -> [UInt8] {
        let sps: [UInt8] = [
            0x67, 0x4D, 0x40, 0x1E, 0xEC, 0xA0, 0x50, 0x17, 0xFC, 0xB8, 0x08, 0x80, 0, 0, 3, 0, 0x80, 0, 0, 0x19, 0x07,
            0x8B, 0x16, 0xCB,
        ]
        let record =
            [1, 0x4D, 0x40, 0x1E, 0xFF, 0xE1, 0, UInt8(sps.count)] + sps + [1, 0, 4, 0x68, picture, 0x8C, 0xB2]
        return FLVTag.program(record, from: start, seconds: seconds)
    }

    @Test func aLiveProgramStaysWithinItsWindowAndIsClosed() async throws {
        let bench = Bench()
        defer { bench.remove() }
        let packager = bench.packager()
        var inspector = PlaylistInspector()
        try packager.push(FLVTag.fileHeader)
        for part in 0..<20 {
            try packager.push(Self.program(from: part * 4, seconds: 4))
            if let text = try? bench.text("video.m3u8") { inspector.take(text) }
        }
        await packager.finish(isInterrupted: false)
        inspector.take(try bench.text("video.m3u8"))
        #expect(inspector.complaints == [])
        #expect(inspector.newest?.isEnded == true && inspector.newest?.targetDuration == 4)
        #expect(inspector.seen.count == 20 && inspector.newest?.segments.count == 3)
        // All items arrive at once: nothing may be deleted yet, and no file is incomplete.
        #expect(bench.files.count { $0.hasSuffix(".ts") } == 20 && !bench.files.contains { $0.hasSuffix(".part") })
        #expect(try bench.text("index.m3u8").contains("CODECS=\"avc1.4D401E,mp4a.40.2\",RESOLUTION=640x360"))
        #expect(bench.told.withLock { $0.contains { $0.service.running } })
        #expect(bench.status?.service == ServiceState(running: false))
        var mode = stat()
        #expect(stat("\(bench.directory)/room", &mode) == 0 && mode.st_mode & 0o777 == 0o700)
    }

    @Test func anotherOneGoesOnWithThePlaylistOfOneThatWasKilled() async throws {
        let bench = Bench()
        defer { bench.remove() }
        let settings = HLSSettings(windowSeconds: 12, enableVOD: true)
        var inspector = PlaylistInspector()
        var events = PlaylistInspector()
        var killed: [Packager] = []
        for life in 0..<3 {
            // The previous packager is never told to end.
            let packager = bench.packager(settings)
            killed.append(packager)
            try packager.push(FLVTag.fileHeader)
            for part in 0..<3 {
                try packager.push(Self.program(from: (life * 3 + part) * 4, seconds: 4))
                guard let text = try? bench.text("video.m3u8") else { continue }
                inspector.take(text)
                events.take(try bench.text("video-event.m3u8"))
            }
            if life == 2 { await packager.finish(isInterrupted: false) }
        }
        inspector.take(try bench.text("video.m3u8"))
        events.take(try bench.text("video-event.m3u8"))
        #expect(inspector.complaints == [] && events.complaints == [])
        #expect(Set(bench.told.withLock { $0 }.compactMap(\.session)).count == 1)
        // Each interrupted packager loses its incomplete segment.
        #expect(events.newest?.segments.map(\.isDiscontinuity) == [false, false, true, false, true, false, false])
        #expect(events.newest?.isEnded == true)
        var kept = PlaylistInspector()
        kept.take(try bench.text("video-vod.m3u8"))
        #expect(kept.newest?.kind == "VOD" && kept.newest?.segments == events.newest?.segments)
        #expect(try bench.text("vod.m3u8").contains("\nvideo-vod.m3u8\n"))
        _ = killed
    }

    /// Players and caches keep a segment under its number.
    @Test func aNumberThatAPlaylistNamesIsNotGivenAgain() throws {
        let bench = Bench()
        defer { bench.remove() }
        let settings = HLSSettings(windowSeconds: 12)
        let packager = bench.packager(settings)
        try packager.push(FLVTag.fileHeader + Self.program(from: 0, seconds: 9))
        // Like a kill before the record is written.
        try FileManager.default.createDirectory(
            atPath: "\(bench.session)/\(PackagerSession.recordName).part", withIntermediateDirectories: false)
        try packager.push(Self.program(from: 9, seconds: 4))
        #expect(bench.status?.service.error?.message.contains(PackagerSession.recordName) == true)
        let named = try bench.text("video.m3u8")
        let next = try #require(
            PackagerSession(
                resuming: "\(bench.directory)/room", settings: settings, now: Date().timeIntervalSince1970)
        ).nextNumber
        #expect(next >= 2 && named.contains("video-\(next - 1).ts") && !named.contains("video-\(next).ts"))
        withExtendedLifetime(packager) {}
    }

    /// A packager was killed after it had listed a segment, and before it wrote the record.
    @Test func aSegmentThatIsMadeAgainIsListedOnce() async throws {
        let bench = Bench()
        defer { bench.remove() }
        let settings = HLSSettings(windowSeconds: 12, enableVOD: true)
        var killed: [Packager] = []
        for life in 0..<3 {
            let packager = bench.packager(settings)
            killed.append(packager)
            try packager.push(FLVTag.fileHeader + Self.program(from: life * 20, seconds: 9))
            let record = try bench.text(PackagerSession.recordName)
            try packager.push(Self.program(from: life * 20 + 9, seconds: 4))
            #expect(try bench.text(PackagerSession.recordName) != record)
            guard life < 2 else {
                await packager.finish(isInterrupted: false)
                continue
            }
            try Data(record.utf8).write(to: URL(filePath: "\(bench.session)/\(PackagerSession.recordName)"))
        }
        var kept = PlaylistInspector()
        kept.take(try bench.text("video-vod.m3u8"))
        #expect(kept.complaints == [])
        let segments = try #require(kept.newest?.segments)
        #expect(segments.count == 8 && segments.map(\.uri) == segments.indices.map { "video-\($0).ts" })
        _ = killed
    }

    /// Numbers in `session.json` that no packager would write are not used in calculations.
    @Test func aDamagedSessionIsNotGoneOnWith() throws {
        let bench = Bench()
        defer { bench.remove() }
        let settings = HLSSettings(windowSeconds: 12)
        let packager = bench.packager(settings)
        try packager.push(FLVTag.fileHeader)
        try packager.push(Self.program(from: 0, seconds: 12))
        let now = Date().timeIntervalSince1970
        func resumed() -> PackagerSession? {
            PackagerSession(resuming: "\(bench.directory)/room", settings: settings, now: now)
        }
        let record = try bench.text(PackagerSession.recordName)
        let file = "\(bench.session)/\(PackagerSession.recordName)"
        #expect(
            record.contains(/"wallClock":\d+/) && record.contains(/"bytes":\d+/) && record.contains(/"duration":\d+/))
        for number in [Int64.min, -1, 1 << 53, (1 << 53) + 1, .max] {
            for (field, text) in [
                ("wallClock", record.replacing(/"wallClock":\d+/, with: "\"wallClock\":\(number)")),
                ("duration", record.replacing(/"duration":\d+/, with: "\"duration\":\(number)")),
                ("bytes", record.replacing(/"bytes":\d+/, with: "\"bytes\":\(number)")),
            ] {
                try Data(text.utf8).write(to: URL(filePath: file))
                #expect(resumed() == nil, "\(field) \(number)")
            }
        }
        try Data(record.utf8).write(to: URL(filePath: file))
        #expect(resumed() != nil, "as it was")
        withExtendedLifetime(packager) {}
    }

    /// Viewers get the session with the highest number.
    @Test func aSessionIsTheNewestEvenIfTheClockWasSetBack() throws {
        let bench = Bench()
        defer { bench.remove() }
        for name in ["x", "12x", "+7000000", "99999999999999999999999"] {
            try FileManager.default.createDirectory(
                atPath: "\(bench.directory)/room/\(name)", withIntermediateDirectories: true)
        }
        let names = try [2_000.5, 1_000, 2_000.5, 3_000].map { now in
            try PackagerSession(
                in: "\(bench.directory)/room", settings: HLSSettings(), targetDuration: 4, now: now
            ).name
        }
        #expect(names == ["2000500", "2000501", "2000502", "3000000"])
    }

    @Test func aDirectoryThatCannotBeWrittenIsToldAndGoneOnWithWhenItCan() async throws {
        let bench = Bench()
        defer { bench.remove() }
        let packager = bench.packager()
        try packager.push(FLVTag.fileHeader + Self.program(from: 0, seconds: 9))
        #expect(bench.status?.service.running == true)
        let session = bench.session
        let aside = session + "0000aside"
        // A file takes the place of the directory.
        try FileManager.default.moveItem(atPath: session, toPath: aside)
        try Data().write(to: URL(fileURLWithPath: session))
        try packager.push(Self.program(from: 9, seconds: 8))
        #expect(bench.status?.service.running == false)
        #expect(bench.status?.service.error?.code == "directory_unavailable", "\(String(describing: bench.status))")
        try FileManager.default.removeItem(atPath: session)
        try FileManager.default.moveItem(atPath: aside, toPath: session)
        try packager.push(Self.program(from: 17, seconds: 8))
        #expect(bench.status?.service == ServiceState(running: true))
        var inspector = PlaylistInspector()
        inspector.take(try bench.text("video.m3u8"))
        #expect(inspector.complaints == [])
        #expect(inspector.newest?.segments.contains { $0.isDiscontinuity } == true)
        // Removed entirely: it is created again.
        try FileManager.default.removeItem(atPath: bench.directory)
        try packager.push(Self.program(from: 25, seconds: 8))
        #expect(bench.status?.service == ServiceState(running: true))
        await packager.finish(isInterrupted: false)
        #expect(try bench.text("video.m3u8").hasSuffix("#EXT-X-ENDLIST\n"))
    }

    /// Segments of a live playlist take turns; those that are kept fill the disk.
    @Test(arguments: [true, false]) func whatIsKeptLeavesRoomOnTheDisk(isKept: Bool) async throws {
        let bench = Bench()
        defer { bench.remove() }
        let packager = bench.packager(HLSSettings(windowSeconds: 12, enableVOD: isKept), keepFreeBytes: .max)
        try packager.push(FLVTag.fileHeader)
        // The directory is made for the first segment.
        try packager.push(Self.program(from: 0, seconds: 14))
        #expect(bench.status?.service.error?.code == (isKept ? "disk_nearly_full" : nil))
        #expect(bench.files.count { $0.hasSuffix(".ts") } == (isKept ? 1 : 3))
        await packager.finish(isInterrupted: false)
    }

    @Test func aFullDiskIsCalledThat() {
        let failure = SessionFiles.Failure(errno: ENOSPC, path: "/data/hls/x.ts")
        #expect(failure.state.code == "disk_full" && failure.state.message.contains("hls.directory"))
        #expect(SessionFiles.Failure(errno: EDQUOT, path: "x").state.code == "disk_full")
        // A really full disk, where the machine has one.
        guard access("/dev/full", W_OK) == 0 else { return }
        #expect(throws: SessionFiles.Failure(errno: ENOSPC, path: "/dev/full")) {
            try SessionFiles(directory: "/dev").append([1], to: "full")
        }
    }

    @Test func anotherPictureCutsAtOnceAndTranscodersThatAreNotThereLeaveGaps() async throws {
        let bench = Bench()
        defer { bench.remove() }
        let settings = HLSSettings(
            windowSeconds: 60, renditions: [HLSRendition(height: 180, videoBitrate: 200_000, metadata: "small")])
        let packager = bench.packager(settings)
        try packager.push(FLVTag.fileHeader + Self.program(from: 0, seconds: 6))
        for part in 0..<4 {
            try packager.push(Self.program(from: 6 + part * 5, seconds: 5, picture: UInt8(2 + part % 2)))
        }
        await packager.finish(isInterrupted: false)
        let (top, low) = (try bench.playlist("video.m3u8"), try bench.playlist("180p.m3u8"))
        #expect(top.complaints == [] && low.complaints == [])
        let segments = try #require(top.newest?.segments)
        #expect(segments.map { $0.duration.rounded() } == [4, 2, 4, 1, 4, 1, 4, 1, 4, 1])
        #expect(segments.map(\.isDiscontinuity) == segments.indices.map { $0 >= 2 && $0 % 2 == 0 })
        #expect(low.newest?.segments.allSatisfy(\.isGap) == true)
        #expect(low.newest?.segments.map(\.duration) == segments.map(\.duration))
        #expect(low.newest?.segments.map(\.isDiscontinuity) == segments.map(\.isDiscontinuity))
        let status = bench.told.withLock { $0 }.last { !$0.variants.isEmpty }
        #expect(status?.variants.last?.error != nil && status?.variants.last?.metadata == "small")
    }

    /// Players assign the segments of all variants by their numbers.
    @Test func aPlaylistThatCannotBeWrittenShiftsNoNumbers() async throws {
        let bench = Bench()
        defer { bench.remove() }
        let packager = bench.packager(
            HLSSettings(windowSeconds: 120, renditions: [HLSRendition(height: 180, videoBitrate: 200_000)]))
        try packager.push(FLVTag.fileHeader + Self.program(from: 0, seconds: 9))
        var time = 9
        for name in ["video.m3u8", "180p.m3u8"] {
            // A directory in place of the file under which the playlist is first written.
            let obstacle = "\(bench.session)/\(name).part"
            try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: false)
            try packager.push(Self.program(from: time, seconds: 20))
            #expect(bench.told.withLock { $0.contains { $0.service.error?.message.contains(name) == true } })
            try FileManager.default.removeItem(atPath: obstacle)
            try packager.push(Self.program(from: time + 20, seconds: 8))
            time += 28
        }
        await packager.finish(isInterrupted: false)
        let (top, low) = (try bench.playlist("video.m3u8"), try bench.playlist("180p.m3u8"))
        #expect(top.complaints == [] && low.complaints == [])
        let segments = try #require(top.newest?.segments)
        #expect(low.newest?.segments.map(\.duration) == segments.map(\.duration))
        #expect(low.newest?.segments.map(\.isDiscontinuity) == segments.map(\.isDiscontinuity))
    }

    @Test(
        "a rendition keeps the program's shape and is never larger",
        arguments: [
            (1280, 720, 640, 360), (720, 1280, 202, 360), (640, 360, 640, 360), (320, 180, 320, 180),
            (854, 480, 640, 360),
        ]) func size(width: Int, height: Int, scaledWidth: Int, scaledHeight: Int)
    {
        let size = RenditionTranscoder.size(of: HLSRendition(height: 360, videoBitrate: 1), from: width, height)
        #expect(size == (scaledWidth, scaledHeight))
    }
}
