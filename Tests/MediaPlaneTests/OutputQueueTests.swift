import MixModel
import TestSupport
import Testing
import EncodedMedia

@testable import MediaFormats
@testable import ProgramRelay
@testable import RTMP

@Suite struct OutputQueueTests {
    @Test func everythingComesOutInOrder() {
        var queue = OutputQueue()
        let tags = Script(gops: 3).tags
        for tag in tags { queue.append(tag) }
        #expect(queue.take(.max) == tags)
        #expect(queue.isEmpty && queue.bytes == 0 && queue.droppedFrames == 0)
    }

    @Test func aBudgetCutsBetweenTagsAndLetsOneThrough() {
        var queue = OutputQueue()
        let tags = Script(gops: 1).tags
        for tag in tags { queue.append(tag) }
        #expect(queue.take(1) == [tags[0]])
        #expect(queue.take(tags[1].size + 1) == [tags[1], tags[2]])
        #expect(queue.take(.max) == Array(tags[3...]))
    }

    @Test func aSlowDestinationLosesWholeGroupsOfPictures() {
        var queue = OutputQueue(limits: .init(milliseconds: 3_000))
        let tags = Script(gops: 6).tags  // Six groups of one second each.
        for tag in tags { queue.append(tag) }
        let taken = queue.take(.max)
        #expect(taken.prefix(3).map(\.role) == [.metadata, .sequenceHeader(.video), .sequenceHeader(.audio)])
        #expect(taken[3].isIDR)
        #expect(taken[3].timestamp % 1_000 == 0 && taken[3].timestamp >= 2_000)
        #expect(taken.prefix(3).allSatisfy { $0.timestamp == taken[3].timestamp })
        #expect(Array(taken[3...]) == Array(tags.suffix(taken.count - 3)))
        #expect(queue.droppedFrames == tags.count(where: \.isFrame) - (taken.count - 3))
    }

    @Test func aNewConnectionBeginsWithTheNewestGroup() throws {
        var queue = OutputQueue()
        let tags = Script(gops: 2).tags
        for tag in tags { queue.append(tag) }
        _ = queue.take(100)
        queue.confirm()
        queue.restart()
        let taken = queue.take(.max)
        try #require(taken.count > 3)
        #expect(taken.prefix(3).allSatisfy { !$0.isFrame })
        #expect(taken.count == 23 && taken[3].isIDR && taken[3].timestamp == 1_000)
    }

    /// A failed attempt took the beginning of the program, and the next one gets it again.
    @Test func whatAFailedAttemptWasGivenIsNotLost() throws {
        var queue = OutputQueue()
        let tags = Script(gops: 2).tags
        for tag in tags.prefix(tags.count - 3) { queue.append(tag) }
        #expect(queue.take(.max).count == tags.count - 3)
        for tag in tags.suffix(3) { queue.append(tag) }
        _ = queue.take(tags[tags.count - 3].bytes.count)
        queue.restart()
        let again = queue.take(.max)
        #expect(again.prefix(3).allSatisfy { !$0.isFrame } && again[3].isIDR && again[3].timestamp == 1_000)
        #expect(Array(again[3...]) == tags.suffix(again.count - 3))
        // Once confirmed, the beginning is not repeated.
        queue.confirm()
        queue.restart()
        #expect(queue.isEmpty)
    }

    /// The audio changes within a group of pictures that a failed attempt was given.
    @Test func aRepeatedGroupHasTheHeadersThatPrecededIt() throws {
        var queue = OutputQueue()
        for tag in Script(gops: 1).tags { queue.append(tag) }
        queue.append(OutputTag(FLVTag(role: .sequenceHeader(.audio), timestamp: 950, body: [2])))
        queue.append(OutputTag(FLVTag(role: .frame(.audio, isIDR: false), timestamp: 950, body: [2, 0, 20])))
        let first = queue.take(.max)
        queue.restart()
        #expect(queue.take(.max) == first)
        // Once confirmed, the new header counts.
        queue.confirm()
        queue.restart()
        queue.append(OutputTag(FLVTag(role: .frame(.video, isIDR: true), timestamp: 1_000, body: [2, 0, 21])))
        let next = queue.take(.max)
        try #require(next.count == 4)
        #expect(next[2].role == .sequenceHeader(.audio) && next[2].tag.body == [2])
    }

    @Test func aProgramThatLostItsPicturesGoesOnWithItsSound() {
        var queue = OutputQueue(limits: .init(milliseconds: 2_000))
        for tag in Script(gops: 1).tags { queue.append(tag) }
        _ = queue.take(.max)
        func sound(_ time: UInt32) -> OutputTag {
            OutputTag(FLVTag(role: .frame(.audio, isIDR: false), timestamp: time, body: [0xAF, 1, 2]))
        }
        for time in stride(from: 1_000 as UInt32, to: 9_000, by: 20) { queue.append(sound(time)) }
        queue.confirm()
        queue.restart()
        queue.append(sound(9_000))
        let taken = queue.take(.max)
        // No video header for the new connection, and no wait for an IDR.
        #expect(taken.map(\.role) == [.metadata, .sequenceHeader(.audio), .frame(.audio, isIDR: false)])
    }

    /// A participant whose camera was off goes on with the same parameter sets; then the recorder is replaced.
    @Test(arguments: [false, true]) func picturesThatComeBackHaveTheirHeader(hasReconnected: Bool) {
        var queue = OutputQueue(limits: .init(milliseconds: 2_000))
        for tag in Script(gops: 1).tags { queue.append(tag) }
        _ = queue.take(.max)
        queue.confirm()
        for time in stride(from: 1_000 as UInt32, to: 9_000, by: 20) {
            queue.append(OutputTag(FLVTag(role: .frame(.audio, isIDR: false), timestamp: time, body: [0xAF, 1, 2])))
            _ = queue.take(.max)
            if hasReconnected, time == 5_000 { queue.restart() }
        }
        // They begin in the middle of a group.
        for tag in Script(gops: 11).tags where tag.isFrame && tag.timestamp >= 9_100 { queue.append(tag) }
        let back = queue.take(.max)
        #expect(back.first?.role == .sequenceHeader(.video) && back.first?.timestamp == 9_100)
        #expect(back.dropFirst().first?.timestamp == (hasReconnected ? 10_000 : 9_100))
        #expect(back.dropFirst().first?.isIDR == hasReconnected)

        for tag in Script(gops: 12).tags where tag.isFrame && tag.timestamp >= 11_000 { queue.append(tag) }
        queue.confirm()
        queue.restart()
        let next = queue.take(.max)
        #expect(next.prefix(3).map(\.role) == [.metadata, .sequenceHeader(.video), .sequenceHeader(.audio)])
        #expect(next.dropFirst(3).first?.isIDR == true && next.dropFirst(3).first?.timestamp == 11_000)
    }

    /// A recorder that is too slow loses frames, but its manifest names every switch.
    @Test func cuesOutliveTheFramesThatAreDropped() {
        func cue(_ time: UInt32) -> OutputTag {
            OutputTag(FLVCue(name: RecorderCue.switched, text: "\(time)").tag(at: time))
        }
        func texts(_ tags: [OutputTag]) -> [String] { tags.compactMap { FLVCue(body: $0.tag.body)?.text } }
        var queue = OutputQueue(limits: .init(milliseconds: 3_000))
        for tag in Script(gops: 6).tags {
            if tag.isIDR { queue.append(cue(tag.timestamp)) }
            queue.append(tag)
        }
        #expect(texts(queue.take(.max)) == ["0", "1000", "2000", "3000", "4000", "5000"])
        // Between two connections, while it waits for an IDR.
        queue.confirm()
        queue.restart()
        queue.append(cue(6_000))
        queue.append(cue(6_500))
        queue.append(OutputTag(FLVTag(role: .frame(.video, isIDR: true), timestamp: 7_000, body: [0x17, 1])))
        let next = queue.take(.max)
        #expect(texts(next) == ["5000", "6000", "6500"] && next.last?.isIDR == true)
        queue.append(cue(7_500))
        #expect(texts(queue.take(.max)) == ["7500"])
    }

    @Test func withoutAnIDRItWaitsForOne() {
        var queue = OutputQueue()
        let tags = Script(gops: 2).tags
        let second = tags.lastIndex(where: \.isIDR) ?? 0
        for tag in tags[..<second] { queue.append(tag) }
        _ = queue.take(.max)
        queue.confirm()
        queue.restart()
        for tag in tags[(second - 5)...] { queue.append(tag) }
        #expect(queue.take(.max).drop { !$0.isFrame }.first == tags[second])
    }

    @Test func headersOfAProgramThatIsOnMakeItWaitForAnIDR() {
        let tags = Script(gops: 2).tags
        var queue = OutputQueue(preamble: Array(tags[..<3]))
        for tag in tags[8...] { queue.append(tag) }
        let taken = queue.take(.max)
        #expect(Array(taken[..<3]) == Array(tags[..<3]))
        #expect(taken[3].isIDR && taken[3].timestamp == 1_000)
    }

    @Test func aProgramWithoutVideoWaitsForNothing() {
        var queue = OutputQueue()
        let tags = Script(gops: 2).tags.filter { $0.role != .sequenceHeader(.video) && !$0.isVideoFrame }
        for tag in tags { queue.append(tag) }
        queue.confirm()
        queue.restart()
        queue.append(tags[5])
        #expect(queue.take(.max).last == tags[5])
    }

    /// In every case the output is decodable: after a hole comes an IDR with the headers in force there.
    @Test(arguments: 0..<50 as Range<UInt64>) func whatComesOutIsDecodable(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var script = Script(gops: 40, random: &random)
        var queue = OutputQueue(
            limits: .init(milliseconds: UInt32.random(in: 500...4_000, using: &random), bytes: 4_000))
        var out: [OutputTag] = []
        var connectionStarts: Set<Int> = [0]
        while let tag = script.next() {
            queue.append(tag)
            if Int.random(in: 0..<4, using: &random) == 0 { out += queue.take(Int.random(in: 1...600, using: &random)) }
            if Int.random(in: 0..<150, using: &random) == 0 {
                if Bool.random(using: &random) { queue.confirm() }
                queue.restart()
                connectionStarts.insert(out.count)
            }
            #expect(queue.bytes <= 4_000 + 300)
        }
        out += queue.take(.max)
        var headers: [FLVTag.Role: [UInt8]] = [:]
        var previous: OutputTag?
        for (index, tag) in out.enumerated() {
            if connectionStarts.contains(index) { (headers, previous) = ([:], nil) }
            guard tag.isFrame else {
                headers[tag.role] = Script.content(tag)
                continue
            }
            guard case .frame(let track, _) = tag.role else { continue }
            #expect(headers[.sequenceHeader(track)] == [script.configuration(of: tag)], "seed \(seed), tag \(index)")
            if let before = previous,
                script.index(of: tag) != script.index(of: before) + 1 || before.timestamp > tag.timestamp
            {
                #expect(tag.isIDR, "seed \(seed): a hole before tag \(index)")
            }
            if previous == nil && index > 0 && connectionStarts.contains(where: { $0 > 0 && $0 <= index }) {
                #expect(tag.isIDR, "seed \(seed): connection begins at \(index)")
            }
            previous = tag
        }
        #expect(previous != nil)
    }
}

/// A program of one-second groups: an IDR, nine more pictures, and sound between them. The body of a frame names its
/// place among the frames and the configuration in force.
private struct Script {
    private(set) var tags: [OutputTag] = []
    private var position = 0

    init(gops: Int) {
        var none = SeededGenerator(seed: 0)
        self.init(gops: gops, changes: false, random: &none)
    }

    init(gops: Int, random: inout SeededGenerator) { self.init(gops: gops, changes: true, random: &random) }

    private init(gops: Int, changes: Bool, random: inout SeededGenerator) {
        var configuration: UInt8 = 1
        var frame = 0
        func add(_ role: FLVTag.Role, _ time: Int, _ body: [UInt8]) {
            tags.append(OutputTag(FLVTag(role: role, timestamp: UInt32(time), body: body)))
        }
        for gop in 0..<gops {
            if gop == 0 || (changes && Int.random(in: 0..<3, using: &random) == 0) {
                if gop > 0 { configuration &+= 1 }
                if gop == 0 { add(.metadata, 0, [9]) }
                add(.sequenceHeader(.video), gop * 1_000, [configuration])
                add(.sequenceHeader(.audio), gop * 1_000, [configuration])
            }
            for picture in 0..<10 {
                let time = gop * 1_000 + picture * 100
                for role in [FLVTag.Role.frame(.video, isIDR: picture == 0), .frame(.audio, isIDR: false)] {
                    add(role, time, [configuration, UInt8(frame >> 8), UInt8(frame & 0xFF)])
                    frame += 1
                }
            }
        }
    }

    mutating func next() -> OutputTag? {
        guard position < tags.count else { return nil }
        defer { position += 1 }
        return tags[position]
    }

    static func content(_ tag: OutputTag) -> [UInt8] { Array(tag.bytes.dropFirst(11).dropLast(4)) }
    func configuration(of tag: OutputTag) -> UInt8 { tag.bytes[11] }
    func index(of tag: OutputTag) -> Int { Int(tag.bytes[12]) << 8 | Int(tag.bytes[13]) }
}

extension OutputTag {
    fileprivate var isVideoFrame: Bool {
        if case .frame(.video, _) = role { true } else { false }
    }
}
