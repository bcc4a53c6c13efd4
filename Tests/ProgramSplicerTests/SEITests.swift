import Foundation
import LayoutEngine
import MixModel
import TestSupport
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramSplicer

/// SEI messages, read back by a parser that shares no code with the writer.
@Suite struct SEITests {
    /// Returns the messages of an SEI NAL unit as defined by ITU-T H.264 §7.3.1 and §7.3.2.3; `nil` if it is not one.
    static func parse(_ unit: [UInt8]) -> [(type: Int, payload: [UInt8])]? {
        guard unit.first == 0x06 else { return nil }
        var rbsp: [UInt8] = []
        var index = 1
        while index < unit.count {
            if index + 2 < unit.count, unit[index] == 0, unit[index + 1] == 0, unit[index + 2] == 3 {
                rbsp += [0, 0]
                index += 3
            } else {
                rbsp.append(unit[index])
                index += 1
            }
        }
        guard let last = rbsp.lastIndex(where: { $0 != 0 }), rbsp[last] == 0x80 else { return nil }
        rbsp = Array(rbsp[..<last])
        var messages: [(type: Int, payload: [UInt8])] = []
        var position = 0
        func coded() -> Int? {
            var value = 0
            while position < rbsp.count {
                let byte = rbsp[position]
                position += 1
                value += Int(byte)
                if byte != 255 { return value }
            }
            return nil
        }
        while position < rbsp.count {
            guard let type = coded(), let size = coded(), position + size <= rbsp.count else { return nil }
            messages.append((type, Array(rbsp[position..<position + size])))
            position += size
        }
        return messages
    }

    @Test func messagesOfAnyBytesAndSizesAreReadBack() throws {
        var random = SeededGenerator(announcedFor: "sei")
        for _ in 0..<400 {
            let sent = (0..<Int.random(in: 1...3, using: &random)).map { _ in
                // Mostly bytes that could form a start code.
                let payload = (0..<[0, 1, 254, 255, 256, 510, 700].randomElement(using: &random)!).map { _ in
                    Bool.random(using: &random)
                        ? UInt8.random(in: 0...4, using: &random) : .random(in: 0...255, using: &random)
                }
                return SEIMessage(type: [5, 100, 254].randomElement(using: &random)!, payload: payload)
            }
            let unit = SEIMessage.nalUnit(sent)
            let read = try #require(Self.parse(unit))
            #expect(read.map { SEIMessage(type: $0.type, payload: $0.payload) } == sent)
            for index in unit.indices.dropLast(2) where unit[index] == 0 && unit[index + 1] == 0 {
                #expect(unit[index + 2] >= 3, "a start code at \(index)")
            }
            #expect(unit.last == 0x80)
        }
    }

    @Test func userDataStandsBehindOurUUID() throws {
        let unit = SEIMessage.nalUnit([SEIMessage(text: "{}", type: 5), SEIMessage(text: "{}", type: 242)])
        let read = try #require(Self.parse(unit))
        #expect(
            Array(read[0].payload.prefix(16)) == SEIMessage.uuid
                && Array(read[0].payload.dropFirst(16)) == [0x7B, 0x7D])
        #expect(read[1].type == 242 && read[1].payload == [0x7B, 0x7D])
    }

    private static func unit(_ header: UInt8, _ length: Int = 3) -> [UInt8] {
        [header] + [UInt8](repeating: 0xAA, count: length)
    }

    private static func payload(_ units: [[UInt8]], lengthSize: Int = 4) -> [UInt8] {
        units.flatMap { unit in
            bigEndianBytes(unit.count, lengthSize) + unit
        }
    }

    @Test(arguments: [1, 2, 4])
    func itStandsBeforeTheFirstSliceAndNothingElseMoves(_ lengthSize: Int) throws {
        // Delimiter, SPS, PPS, the encoder's SEI, two slices.
        let units = [
            [0x09, 0xF0], Self.unit(0x67), Self.unit(0x68), [0x06, 1, 1, 0, 0x80], Self.unit(0x65), Self.unit(0x65),
        ]
        let frame = EncodedFrame(
            track: .video, pts: .zero, dts: .zero, isIDR: true, payload: Self.payload(units, lengthSize: lengthSize))
        let unit = SEIMessage.nalUnit([SEIMessage(text: "{\"a\":1}", type: 100)])
        let changed = try #require(frame.inserting(nalUnit: unit, lengthSize: lengthSize))
        let found = NALUnits(changed.payload, lengthSize: lengthSize).map { Array($0) }
        #expect(found == Array(units[..<4]) + [unit] + Array(units[4...]))
        #expect(changed.isIDR && changed.pts == frame.pts && changed.dts == frame.dts)
    }

    @Test func whatCannotBeDoneLeavesTheFrame() {
        let sound = EncodedFrame(track: .audio, pts: .zero, dts: .zero, payload: [1, 2, 3])
        #expect(sound.inserting(nalUnit: [6], lengthSize: 4) == nil)
        let headers = EncodedFrame(track: .video, pts: .zero, dts: .zero, payload: Self.payload([Self.unit(0x67)]))
        #expect(headers.inserting(nalUnit: [6], lengthSize: 4) == nil)
        let small = EncodedFrame(
            track: .video, pts: .zero, dts: .zero, payload: Self.payload([Self.unit(0x41)], lengthSize: 1))
        #expect(small.inserting(nalUnit: [UInt8](repeating: 1, count: 300), lengthSize: 1) == nil)
        let broken = EncodedFrame(track: .video, pts: .zero, dts: .zero, payload: [0, 0, 9, 9, 0x65])
        #expect(broken.inserting(nalUnit: [6], lengthSize: 4) == nil)
    }

    // MARK: When

    private static let layout = SEILayout(bypass: "alice/camera", size: nil, at: 7)

    /// Returns the numbers of the frames, of 50 ms and with an IDR every 40, that carry messages, and the number of
    /// messages.
    private func carriers(_ settings: SEISettings, frames: Int = 121, step: Double = 0.05) -> [Int: Int] {
        var schedule = SEISchedule()
        schedule.settings = settings
        var carriers: [Int: Int] = [:]
        for index in 0..<frames {
            let messages = schedule.messages(at: .seconds(3 + Double(index) * step), isIDR: index % 40 == 0) {
                Self.layout
            }
            if !messages.isEmpty { carriers[index] = messages.count }
        }
        return carriers
    }

    @Test func intervalsAndIDRsAreKept() {
        #expect(carriers(SEISettings(layoutVolume: .init(intervalMs: 1500))).keys.sorted() == [0, 30, 60, 90, 120])
        #expect(carriers(SEISettings(layoutVolume: .init(intervalMs: nil))).keys.sorted() == [0, 40, 80, 120])
        let both = carriers(SEISettings(layoutVolume: .init(intervalMs: 1500, followsIDR: true)))
        #expect(both.keys.sorted() == [0, 30, 40, 60, 80, 90, 120])
        // A rhythm that no frame matches does not drift.
        #expect(carriers(SEISettings(layoutVolume: .init(intervalMs: 1000)), frames: 301, step: 0.03).count == 10)
        let all = SEISettings(layoutVolume: .init(), passThrough: .init(content: "x"), custom: "y")
        #expect(carriers(all)[0] == 3)
        #expect(carriers(SEISettings(wallClock: .init(intervalMs: nil))).keys.sorted() == [0, 40, 80, 120])
        #expect(carriers(SEISettings()).isEmpty && SEISchedule().isEmpty)
    }

    @Test func theTimeOfDayIsThatOfTheFrame() {
        var schedule = SEISchedule()
        schedule.settings = SEISettings(wallClock: .init())
        let messages = schedule.messages(at: .seconds(1), isIDR: true, wallClock: { 1_700_000_000_123 }) { Self.layout }
        #expect(messages == [SEIMessage(text: "{\"ts\":1700000000123}", type: 5)])
        #expect(!schedule.isEmpty)
    }

    @Test func aNewTextGoesWithTheNextFrameAndTheRestKeepsItsRhythm() {
        var schedule = SEISchedule()
        schedule.settings = SEISettings(payloadType: 101, layoutVolume: .init(intervalMs: 2000))
        #expect(schedule.messages(at: .seconds(1), isIDR: false) { Self.layout }.count == 1)
        schedule.settings?.custom = "goal"
        let messages = schedule.messages(at: .seconds(1.05), isIDR: false) { Self.layout }
        #expect(messages == [SEIMessage(type: 101, payload: Array("goal".utf8))])
        #expect(schedule.messages(at: .seconds(2), isIDR: false) { Self.layout }.isEmpty)
        #expect(schedule.messages(at: .seconds(2.05), isIDR: false) { Self.layout }.count == 1)
        #expect(schedule.messages(at: .seconds(3), isIDR: false) { Self.layout }.count == 1)
    }

    // MARK: What

    @Test func theLayoutSaysWhoIsWhereAndHowLoud() throws {
        var scene = LayoutEngine.scene(
            of: [
                Place(
                    area: Area(x: .zero, y: .zero, width: UnitFraction(0.5), height: .whole), z: 0, fit: .cover,
                    occupant: LayoutParticipant(source: "alice/camera", user: "alice", joinOrder: 0)),
                Place(
                    area: Area(x: UnitFraction(0.5), y: .zero, width: UnitFraction(0.5), height: .whole), z: 3,
                    fit: .cover,
                    occupant: LayoutParticipant(source: "carol/screen@next", user: "carol", joinOrder: 1)),
                Place(area: .canvas, z: 9, fit: .cover),
            ], heard: [], background: nil, canvas: Canvas(width: 640, height: 360, fps: 25))
        scene.sound = SceneSound(levels: [.init(source: "alice/camera"), .init(source: "bob/audio#audio")])
        let layout = SEILayout(
            scene: scene, volumes: ["alice/camera": 40, "bob/audio#audio": 7], at: 1_700_000_000_123)
        struct Read: Decodable, Equatable {
            struct Region: Decodable, Equatable {
                var uid: String
                var stream: String
                var room: String?
                var zorder: Int
                var volume: Int?
                var x, y, w, h: Int
            }
            struct Frame: Decodable, Equatable { var w: Int, h: Int, bgnd: String }
            var canvas: Frame, regions: [Region], ts: Int64, ver: String
        }
        let read = try JSONDecoder().decode(Read.self, from: Data(layout.json.utf8))
        #expect(
            read
                == Read(
                    canvas: .init(w: 640, h: 360, bgnd: "#000000"),
                    regions: [
                        .init(uid: "alice", stream: "camera", zorder: 0, volume: 40, x: 0, y: 0, w: 320, h: 360),
                        .init(
                            uid: "carol", stream: "screen", room: "next", zorder: 3, volume: 0, x: 320, y: 0, w: 320,
                            h: 360),
                        .init(uid: "bob", stream: "audio", zorder: 0, volume: 7, x: 0, y: 0, w: 0, h: 0),
                    ], ts: 1_700_000_000_123, ver: "20190611"))
        let alone = SEILayout(bypass: "bob/camera#video", size: .init(width: 720, height: 1280), at: 1)
        let one = try JSONDecoder().decode(Read.self, from: Data(alone.json.utf8))
        #expect(
            one.regions == [.init(uid: "bob", stream: "camera", zorder: 0, volume: nil, x: 0, y: 0, w: 720, h: 1280)])
    }

    @Test func aSineOfFullScaleHasAllTheVolume() throws {
        var meter = VolumeMeter(frame: .units(1024, rate: 48_000))
        #expect(meter.take(["a/camera": 0.5]) == nil, "it is off")
        meter.isOn = true
        var volumes: [SourceID: Int]?
        var calls = 0
        while volumes == nil, calls < 100 {
            volumes = meter.take(["a/camera": 0.5, "b/camera": 0.5 / 64, "c/camera": 0])
            calls += 1
        }
        #expect(volumes == ["a/camera": 255, "b/camera": 32, "c/camera": 0])
        #expect(calls == 9, "200 ms")
    }
}
