import NIOCore
import TestSupport
import Testing

@testable import MixOrchestrator
@testable import RoomService

private typealias Program = ScriptedProgram

struct ViewerCursorTests {
    /// A program with a picture every 50 ms, each in its own batch.
    private struct Source {
        var batcher = FLVBatcher()
        var number = 0

        mutating func next(isIDR: Bool, header: UInt8? = nil, size: Int = 100) throws -> [FLVBatch] {
            let now = Int64(number) * 50_000_000
            var batches: [FLVBatch] = []
            let timestamp = UInt32(number * 50)
            if let header {
                batches += batcher.add(try Program.one(Program.videoHeader(header, at: timestamp)), now: now)
            }
            batches += batcher.add(
                try Program.one(Program.picture(timestamp, isIDR: isIDR, size: size)), now: now)
            number += 1
            return batches + [batcher.take(now: now)].compactMap(\.self)
        }
    }

    private func names(_ bytes: [UInt8]) throws -> [String] {
        let content = try #require(Program.content(ofChunks: bytes))
        let start = content.starts(with: "FLV".utf8) ? [] : Program.fileHeader()
        return try Program.scanned(start + content).map(\.name)
    }

    private func take(_ cursor: inout ViewerCursor, _ window: ProgramWindow, most: Int = .max) throws -> [String] {
        var all: [UInt8] = []
        for _ in 0..<most {
            guard let buffer = cursor.next(in: window) else { break }
            all += Array(buffer.readableBytesView)
        }
        return try names(all)
    }

    @Test func aViewerBeginsAtTheLastKeyframeAndMissesNothing() throws {
        var window = ProgramWindow(latencyCap: 4000)
        var source = Source()
        for number in 0..<45 {
            for batch in try source.next(isIDR: number % 20 == 0, header: number == 0 ? 1 : nil) {
                window.append(batch)
            }
        }
        var cursor = ViewerCursor()
        #expect(try take(&cursor, window) == ["V1@2000", "I2000", "P2050", "P2100", "P2150", "P2200"])
        #expect(try take(&cursor, window) == [])
        for batch in try source.next(isIDR: false) { window.append(batch) }
        #expect(try take(&cursor, window) == ["P2250"])
        #expect(cursor.skips == 0)
    }

    @Test func headersThatChangedComeBeforeTheKeyframeThatNeedsThem() throws {
        var window = ProgramWindow(latencyCap: 1000)
        var source = Source()
        var slow = ViewerCursor()
        var steady = ViewerCursor()
        var got: [String] = []
        for number in 0..<60 {
            let header: UInt8? = number == 0 ? 1 : number == 40 ? 2 : nil
            for batch in try source.next(isIDR: number % 20 == 0, header: header) { window.append(batch) }
            if number == 4 { #expect(try take(&slow, window, most: 3) == ["V1@0", "I0", "P50"]) }
            got += try take(&steady, window)
        }
        #expect(try take(&slow, window).prefix(3) == ["V2@2000", "I2000", "P2050"])
        #expect(slow.skips == 1)
        #expect(got.filter { !$0.hasPrefix("V") }.count == 60)
        #expect(got.filter { $0.hasPrefix("V") } == ["V1@0", "V2@2000"])
        // Headers that a viewer has are not sent again.
        #expect(steady.skips == 0)
    }

    @Test func oneWhoIsBehindWithinAGroupOfPicturesGoesOn() throws {
        var window = ProgramWindow(latencyCap: 500)
        var source = Source()
        var slow = ViewerCursor()
        for number in 0..<100 {
            for batch in try source.next(isIDR: number == 0, header: number == 0 ? 1 : nil) { window.append(batch) }
            if number == 0 { _ = try take(&slow, window) }
        }
        #expect(try take(&slow, window).count == 99)
        #expect(slow.skips == 0)
    }

    @Test func aGroupOfPicturesBeyondTheLimitIsWaitedOut() throws {
        var window = ProgramWindow(latencyCap: 1000, byteLimit: 20_000)
        var source = Source()
        var isWhole = true
        for number in 0..<50 {
            for batch in try source.next(isIDR: number == 0, header: number == 0 ? 1 : nil, size: 1000) {
                isWhole = window.append(batch) && isWhole
            }
        }
        #expect(!isWhole && window.newestEntry == nil && window.bytes <= 20_000)
        var cursor = ViewerCursor()
        #expect(try take(&cursor, window) == [])
        for batch in try source.next(isIDR: true) { window.append(batch) }
        #expect(try take(&cursor, window) == ["V1@2500", "I2500"])
    }

    /// For any pattern and speed of reading, each picture follows the one before it or is a keyframe, with the headers
    /// that apply to it.
    @Test(arguments: 1...20) func everybodyCanDecodeWhatHeGets(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let cap = Int.random(in: 200...3000, using: &random)
        var window = ProgramWindow(latencyCap: cap, byteLimit: Int.random(in: 20_000...200_000, using: &random))
        var source = Source()
        var cursors = (0..<6).map { _ in (cursor: ViewerCursor(), bytes: [UInt8]()) }
        let speeds = [99, 3, 2, 1, 1, 0]
        var header: UInt8 = 1
        var headers: [UInt32: UInt8] = [:]
        for number in 0..<800 {
            let isIDR = number == 0 || Int.random(in: 0..<25, using: &random) == 0
            let changes = isIDR && (number == 0 || Int.random(in: 0..<3, using: &random) == 0)
            if changes && number > 0 { header = header % 200 + 1 }
            headers[UInt32(number * 50)] = header
            let size = isIDR ? 3000 : Int.random(in: 50...1500, using: &random)
            for batch in try source.next(isIDR: isIDR, header: changes ? header : nil, size: size) {
                window.append(batch)
            }
            for index in cursors.indices {
                let speed = speeds[index] == 1 ? Int.random(in: 0...2, using: &random) : speeds[index]
                let most = speed == 0 ? (number % 90 == 0 ? 30 : 0) : speed
                for _ in 0..<most {
                    guard let buffer = cursors[index].cursor.next(in: window) else { break }
                    cursors[index].bytes += Array(buffer.readableBytesView)
                }
            }
        }
        for (index, viewer) in cursors.enumerated() {
            let content = try #require(Program.content(ofChunks: viewer.bytes))
            var inForce: UInt8?
            var last: UInt32?
            for tag in try Program.scanned(content) {
                switch tag.role {
                case .videoHeader: inForce = tag.body[tag.body.index(tag.body.startIndex, offsetBy: 5)]
                case .picture(let isIDR):
                    let follows = last.map { tag.timestamp == $0 + 50 } ?? false
                    #expect(isIDR || follows, "viewer \(index) at \(tag.timestamp), seed \(seed)")
                    #expect(inForce == headers[tag.timestamp], "viewer \(index) at \(tag.timestamp), seed \(seed)")
                    last = tag.timestamp
                default: break
                }
            }
            #expect(last != nil)
            if index == 0 { #expect(viewer.cursor.skips == 0) }
        }
        #expect(cursors[5].cursor.skips > 0)
    }
}
