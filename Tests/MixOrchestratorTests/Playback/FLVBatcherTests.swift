import NIOCore
import TestSupport
import Testing

@testable import MixOrchestrator
@testable import RoomService

private typealias Program = ScriptedProgram

struct FLVTagScannerTests {
    private let bytes =
        Program.opening(at: 5) + Program.sound(8) + Program.picture(25) + Program.picture(0xFF00_0001, isIDR: true)

    @Test func tagsAreWhatTheyAre() throws {
        let tags = try Program.scanned(bytes)
        #expect(tags.map(\.name) == ["m@5", "V1@5", "A1@5", "I5", "s8", "P25", "I4278190081"])
        #expect(tags[3].bytes.readableBytesView.elementsEqual(Program.picture(5, isIDR: true)))
    }

    @Test func piecesOfAnySizeGiveTheSame() throws {
        var random = SeededGenerator(seed: 7)
        let whole = try Program.scanned(bytes)
        for _ in 0..<200 {
            var scanner = FLVTagScanner()
            var tags: [ViewedTag] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let size = Int.random(in: 1...40, using: &random)
                scanner.push(ByteBuffer(bytes: rest.prefix(size)))
                rest = rest.dropFirst(size)
                while let tag = try scanner.next() { tags.append(tag) }
            }
            #expect(tags == whole, "seed 7")
        }
    }

    @Test func whatIsNoFLVIsTold() throws {
        #expect(throws: FLVTagScanner.Failure.notFLV) { try Program.scanned(Array("HTTP/1.1 200 OK".utf8)) }
        #expect(throws: FLVTagScanner.Failure.brokenTag(7)) {
            try Program.scanned(Program.fileHeader() + Program.tag(7, 0, [0]))
        }
        // Empty bodies are frames without content.
        #expect(try Program.one(Program.tag(9, 3, [])).role == .picture(isIDR: false))
    }

    @Test func layoutsAreNoMetadata() throws {
        #expect(try Program.one(Program.layout("a")).role == .layout)
        #expect(try Program.one(Program.metadata()).role == .metadata)
        #expect(try Program.one(Program.tag(18, 0, [2, 0, 8] + Array("onLayou".utf8))).role == .metadata)
        #expect(try Program.one(Program.tag(18, 0, [])).role == .metadata)
    }

    /// H.265: sequence header, pictures with and without composition offsets, colour metadata.
    @Test(
        arguments: [
            (0x90, .videoHeader), (0x91, .picture(isIDR: true)), (0x93, .picture(isIDR: true)),
            (0xA1, .picture(isIDR: false)), (0xA3, .picture(isIDR: false)), (0x94, .picture(isIDR: false)),
        ] as [(UInt8, ViewedTag.Role)])
    func enhancedRTMP(first: UInt8, role: ViewedTag.Role) throws {
        #expect(try Program.one(Program.tag(9, 3, [first] + Array("hvc1".utf8) + [0, 0, 0])).role == role)
    }
}

struct FLVBatcherTests {
    /// Returns the batches that tags with these timestamps, in ms, result in.
    private func batches(_ tags: [(at: Int64, bytes: [UInt8])]) throws -> [FLVBatch] {
        var batcher = FLVBatcher()
        var all: [FLVBatch] = []
        for (at, bytes) in tags {
            while let dueAt = batcher.dueAt, dueAt <= at * 1_000_000 {
                all += [batcher.take(now: dueAt)].compactMap(\.self)
            }
            all += batcher.add(try Program.one(bytes), now: at * 1_000_000)
        }
        return all + [batcher.take(now: .max)].compactMap(\.self)
    }

    private func names(_ batch: FLVBatch) throws -> [String] {
        let content = try #require(Program.content(ofChunks: Array(batch.bytes.readableBytesView)))
        return try Program.scanned(Program.fileHeader() + content).map(\.name)
    }

    @Test func whatComesTogetherGoesTogetherAndKeyframesBegin() throws {
        let batches = try batches([
            (0, Program.videoHeader(1, at: 0)), (0, Program.audioHeader(1, at: 0)),
            (0, Program.picture(0, isIDR: true)),
            (5, Program.sound(5)), (26, Program.sound(26)), (50, Program.picture(50)), (52, Program.sound(47)),
            (100, Program.picture(100, isIDR: true)), (101, Program.sound(101)),
        ])
        #expect(
            try batches.map(names) == [
                ["V1@0"], ["A1@0"], ["I0"], ["s5", "s26", "P50"], ["s47"], ["I100"], ["s101"],
            ])
        #expect(batches.map { $0.entry != nil } == [false, false, true, false, false, true, false])
        #expect(batches[3].timestamp == 5 && batches[3].lastTimestamp == 50)
        let opening = try #require(batches[2].entry?.opening)
        let content = try #require(Program.content(ofChunks: Array(opening.readableBytesView)))
        #expect(try Program.scanned(content).map(\.name) == ["V1@0", "A1@0"])
        #expect(content.prefix(5).last == 0b101)
    }

    /// Returns the times, in ms, at which batches with pictures are sent, and how many batches there are in all.
    private func sent(framesPerSecond: Int64, seconds: Int64 = 2) throws -> (delays: [Int64], batches: Int) {
        var batcher = FLVBatcher()
        var arrivals: [Int64] = []
        var delays: [Int64] = []
        var count = 0
        func note(_ batch: FLVBatch, _ now: Int64) throws {
            count += 1
            for _ in try names(batch).filter({ $0.hasPrefix("P") }) { delays.append(now - arrivals.removeFirst()) }
        }
        var tags = (0..<(framesPerSecond * seconds)).map { (at: $0 * 1000 / framesPerSecond, isPicture: true) }
        tags += (0..<(seconds * 1000 / 21)).map { (at: $0 * 21 + 4, isPicture: false) }
        for (at, isPicture) in tags.sorted(by: { $0.at < $1.at }) {
            while let dueAt = batcher.dueAt, dueAt <= at * 1_000_000 {
                try batcher.take(now: dueAt).map { try note($0, dueAt / 1_000_000) }
            }
            if isPicture { arrivals.append(at) }
            let tag = isPicture ? Program.picture(UInt32(at)) : Program.sound(UInt32(at))
            for batch in batcher.add(try Program.one(tag), now: at * 1_000_000) { try note(batch, at) }
        }
        return (delays, count)
    }

    @Test(arguments: [15, 20, 24, 25, 30]) func aPictureIsSentAsItArrives(framesPerSecond: Int64) throws {
        let (delays, batches) = try sent(framesPerSecond: framesPerSecond)
        #expect(delays.count >= 2 * framesPerSecond - 1)
        #expect(delays.allSatisfy { $0 == 0 })
        #expect(batches <= 62, "and takes sound along")
    }

    @Test(arguments: [50, 60, 120]) func fastPicturesShareWrites(framesPerSecond: Int64) throws {
        let (delays, batches) = try sent(framesPerSecond: framesPerSecond)
        #expect(delays.max() ?? .max <= 30)
        #expect(batches <= 70)
    }

    @Test func headersThatHoldAlreadyAreLeftOut() throws {
        let batches = try batches([
            (0, Program.videoHeader(1)), (0, Program.picture(0, isIDR: true)), (500, Program.videoHeader(1, at: 480)),
            (520, Program.videoHeader(2, at: 500)), (530, Program.picture(520, isIDR: true)),
        ])
        #expect(try batches.map(names) == [["V1@0"], ["I0"], ["V2@500"], ["I520"]])
        #expect(batches.map(\.revision) == [1, 1, 2, 2])
        #expect(batches.compactMap(\.entry?.revision) == [1, 2])
    }

    @Test func layoutsGoAheadOfTheirPictureAndToThoseWhoJoin() throws {
        let batches = try batches([
            (0, Program.layout("a")), (0, Program.metadata()), (0, Program.videoHeader(1)),
            (0, Program.picture(0, isIDR: true)), (50, Program.layout("b", at: 50)), (50, Program.picture(50)),
            (60, Program.layout("b", at: 40)), (100, Program.picture(100, isIDR: true)),
        ])
        #expect(
            try batches.map(names) == [["La@0"], ["m@0", "V1@0"], ["I0"], ["Lb@50", "P50"], ["I100"]],
            "a repeated one is left out")
        let openings = try batches.compactMap(\.entry).map { entry in
            let content = try #require(Program.content(ofChunks: Array(entry.opening.readableBytesView)))
            return try Program.scanned(content).map(\.name)
        }
        #expect(openings == [["m@0", "V1@0", "La@0"], ["m@100", "V1@100", "Lb@100"]])
        // A viewer who has received every batch gets no headers again.
        #expect(batches[3].revision == batches[4].entry?.revision)
    }

    @Test func soundAloneCanBeBegunTwiceASecond() throws {
        let tags: [(at: Int64, bytes: [UInt8])] = (0..<100).map { number in
            (Int64(number) * 21, Program.sound(UInt32(number) * 21))
        }
        let entries = try batches([(0, Program.audioHeader())] + tags).filter { $0.entry != nil }
        #expect(entries.map(\.timestamp) == [0, 504, 1008, 1512, 2016])
    }

    @Test func picturesThatStayAwayAreForgotten() throws {
        let sounds: [(at: Int64, bytes: [UInt8])] = (1..<600).map { ($0 * 21, Program.sound(UInt32($0) * 21)) }
        let batches = try batches(
            [(0, Program.videoHeader()), (0, Program.audioHeader()), (0, Program.picture(0, isIDR: true))] + sounds)
        let entries = batches.filter { $0.entry != nil }
        #expect(entries[0].timestamp == 0)
        #expect(entries[1].timestamp > 10_000)
        let opening = try #require(entries[1].entry?.opening)
        let content = try #require(Program.content(ofChunks: Array(opening.readableBytesView)))
        #expect(try Program.scanned(content).map { $0.name.prefix(2) } == ["A1"])
        #expect(content[4] == 0b100)
    }

    /// A participant whose camera was off goes on with the same parameter sets, and no other header.
    @Test func picturesThatComeBackHaveTheirHeader() throws {
        let sounds: [(at: Int64, bytes: [UInt8])] = (1..<600).map { (0, Program.sound(UInt32($0) * 21)) }
        var tags: [(at: Int64, bytes: [UInt8])] = [
            (0, Program.videoHeader()), (0, Program.audioHeader()), (0, Program.picture(0, isIDR: true)),
        ]
        tags += sounds
        tags.append((0, Program.picture(12_600)))
        tags.append((0, Program.picture(12_640, isIDR: true)))
        let batches = try batches(tags)
        let last = try #require(batches.last)
        #expect(try names(last) == ["I12640"])
        let entry = try #require(last.entry)
        let content = try #require(Program.content(ofChunks: Array(entry.opening.readableBytesView)))
        #expect(try Program.scanned(content).map(\.name) == ["V1@12640", "A1@12640"])
        #expect(content[4] == 0b101)
        // Viewers who came meanwhile get it, too.
        let before = try #require(batches.dropLast().last)
        #expect(try names(before).last == "P12600")
        #expect(before.revision < entry.revision)
    }

    @Test func aLongBurstIsCutIntoPieces() throws {
        let batches = try batches(
            [(0, Program.picture(0, isIDR: true, size: 90_000))]
                + (1..<100).map { (0, Program.picture(UInt32($0) * 40, size: 4000)) })
        #expect(batches.allSatisfy { $0.bytes.readableBytes < 96_000 })
        #expect(batches.dropFirst().allSatisfy { $0.bytes.readableBytes <= FLVBatcher.mostBytes + 12 })
        #expect(batches.count < 12)
    }
}

struct ProgramStitcherTests {
    private func names(_ stitcher: inout ProgramStitcher, _ tags: [[UInt8]], at ms: Int64) throws -> [String] {
        try tags.compactMap { stitcher.accept(try Program.one($0), now: ms * 1_000_000)?.name }
    }

    @Test func aConnectionToTheSameRelayRepeatsNothing() throws {
        var stitcher = ProgramStitcher()
        stitcher.connected(to: 1)
        let first = [
            Program.picture(1000, isIDR: true), Program.sound(1010), Program.picture(1050), Program.sound(1031),
        ]
        #expect(try names(&stitcher, first, at: 0) == ["I1000", "s1010", "P1050", "s1031"])
        stitcher.connected(to: 1)
        let again = first + [Program.sound(1052), Program.picture(1100), Program.picture(900)]
        #expect(try names(&stitcher, again, at: 100) == ["s1052", "P1100", "P900"])
        // A group of pictures without its beginning is unusable.
        stitcher.connected(to: 1)
        let late = [Program.picture(1500), Program.sound(1500), Program.picture(1550, isIDR: true)]
        #expect(try names(&stitcher, late, at: 600) == ["s1500", "I1550"])
    }

    @Test func anotherRelaysProgramGoesOnWhereTheTimelineIs() throws {
        var stitcher = ProgramStitcher()
        stitcher.connected(to: 1)
        #expect(try names(&stitcher, [Program.picture(90_000, isIDR: true)], at: 0) == ["I90000"])
        stitcher.connected(to: 2)
        let tags = [Program.videoHeader(at: 40), Program.picture(40, isIDR: true), Program.picture(90)]
        #expect(try names(&stitcher, tags, at: 1500) == ["V1@91500", "I91500", "P91550"])
    }

    /// A relay that replaces a killed one continues its timestamps.
    @Test func aProgramThatGoesOnKeepsItsTimes() throws {
        var stitcher = ProgramStitcher()
        stitcher.connected(to: 1)
        #expect(try names(&stitcher, [Program.picture(90_000, isIDR: true)], at: 0) == ["I90000"])
        stitcher.connected(to: 2)
        let tags = [Program.picture(91_320, isIDR: true), Program.picture(91_370)]
        #expect(try names(&stitcher, tags, at: 1500) == ["I91320", "P91370"])
        // A timestamp too far ahead belongs to another program.
        stitcher.connected(to: 3)
        #expect(try names(&stitcher, [Program.picture(99_000, isIDR: true)], at: 2500) == ["I92370"])
    }

    @Test func theFirstProgramKeepsItsTimes() throws {
        var stitcher = ProgramStitcher()
        stitcher.connected(to: 1)
        stitcher.connected(to: 2)
        #expect(try names(&stitcher, [Program.picture(7), Program.picture(70_000, isIDR: true)], at: 0) == ["I70000"])
    }

    @Test func timesWrap() throws {
        var stitcher = ProgramStitcher()
        stitcher.connected(to: 1)
        _ = try names(&stitcher, [Program.picture(.max - 10, isIDR: true)], at: 0)
        stitcher.connected(to: 2)
        #expect(try names(&stitcher, [Program.picture(100_000, isIDR: true)], at: 20) == ["I9"])
    }
}
