import TestSupport
import Testing
import EncodedMedia

@testable import MediaFormats
@testable import RTMP
@testable import ProgramRelay

/// RTMP servers that send arbitrary bytes.
@Suite struct HostileServerTests {
    private static func client() throws -> RTMPClient {
        var random = SeededGenerator(seed: 1)
        return RTMPClient(.play, try RTMPAddress("rtmp://h/app/name"), using: &random)
    }

    /// Returns random messages of every kind that a server may send to a player, in chunks of several sizes.
    private static func conversation(using random: inout SeededGenerator) -> [UInt8] {
        var peer = RTMPPeer()
        let session = peer.session()
        var bytes = Array(session[3073...])
        var timestamp = UInt32.random(in: 0 ... .max, using: &random)
        let tag = RTMPMessage(kind: .audio, timestamp: timestamp, body: [0xAF, 1, 2]).flvTag
        for _ in 0..<8 {
            timestamp &+= [20, 0xFF_FFFF, 0x7FFF_FFFF, .max].randomElement(using: &random) ?? 0
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                let size = UInt32.random(in: 1...300, using: &random)
                bytes += peer.message(.setChunkSize, RTMPPeer.number(size, 4), on: 2)
                peer.chunkSize = Int(size)
            case 1: bytes += peer.message(.aggregate, tag + tag, timestamp: timestamp, stream: 1, on: 5)
            case 2: bytes += peer.message(.userControl, [0, 6, 1, 2, 3, 4], on: 2)
            case 3: bytes += peer.message(.windowSize, RTMPPeer.number(timestamp, 4), on: 2)
            case 4: bytes += peer.command([.string("onBWDone"), .number(0), .array([.null, .boolean(true)])])
            case 5: bytes += peer.message(.abort, RTMPPeer.number(4, 4), on: 2)
            default:
                let body = [UInt8](repeating: 0xAF, count: .random(in: 0...400, using: &random))
                bytes += peer.message(.audio, body, timestamp: timestamp, stream: 1, on: 4)
            }
        }
        return bytes
    }

    @Test("what a server says may be anything, cut anywhere")
    func anyServer() throws {
        var random = SeededGenerator(announcedFor: "HostileServerTests.anyServer")
        let handshake = [3] + [UInt8](repeating: 0x11, count: 3072)
        for round in 0..<1_500 {
            let conversation = Self.conversation(using: &random)
            let bytes = HostileBytes.any([conversation], using: &random)
            var client = try Self.client()
            var reader = FLVReader()
            _ = try reader.push(FLVTag.fileHeader)
            _ = client.takeOutput()
            _ = client.read(round % 50 == 0 ? HostileBytes.any([handshake], using: &random)[...] : handshake[...])
            for piece in rtmpPieces(bytes, longest: 300, using: &random) {
                for case .media(let message) in client.read(piece) { _ = try? reader.push(message.flvTag) }
                #expect(client.takeOutput().count < 1 << 20)
            }
        }
    }

    @Test("AMF0 of any bytes is read up to where it makes no sense")
    func anyValues() {
        var random = SeededGenerator(announcedFor: "HostileServerTests.anyValues")
        let values: [AMF0] = [
            .string("onStatus"), .number(0), .null,
            .object([
                .init(name: "level", value: .string("status")),
                .init(name: "list", value: .array([.null, .number(1)])),
                .init(name: "nested", value: .object([.init(name: "a", value: .boolean(true))])),
            ]),
        ]
        var valid: [UInt8] = []
        for value in values { value.encode(into: &valid) }
        for _ in 0..<6_000 {
            var again: [UInt8] = []
            for value in AMF0.decodeAll(HostileBytes.any([valid], using: &random)) { value.encode(into: &again) }
            #expect(again.count <= 4 * valid.count + 100)
        }
    }

    // MARK: - Limits

    @Test func aCommandHasOnlySoManyValues() {
        // Elements of one byte each, in a row, in an array and in an object.
        let row = [UInt8](repeating: 5, count: 1 << 16)
        #expect(AMF0.decodeAll(row).count == AMF0.mostValues)
        #expect(AMF0.decodeAll([10, 0, 0, 0xFF, 0xFF] + row).isEmpty)
        let properties = [UInt8](repeating: 0, count: 3 * 30_000).indices.map { [0, 1, 0x61, 5][$0 % 4] as UInt8 }
        #expect(AMF0.decodeAll([3] + properties + [0, 0, 9]).isEmpty)
        // The nesting is as deep as allowed, and then one level deeper.
        func nested(_ depth: Int) -> [UInt8] { (1..<depth).flatMap { _ in [10, 0, 0, 0, 1] as [UInt8] } + [5] }
        #expect(AMF0.decodeAll(nested(AMF0.mostDepth)).count == 1)
        #expect(AMF0.decodeAll(nested(AMF0.mostDepth + 1)).isEmpty)
    }

    @Test func anAggregateHasOnlySoManyMessages() throws {
        let tag = RTMPMessage(kind: .audio, body: []).flvTag
        func aggregate(_ count: Int) -> RTMPMessage {
            RTMPMessage(kind: .aggregate, body: (0..<count).flatMap { _ in tag })
        }
        #expect(try aggregate(RTMPMessage.mostParts).parts().count == RTMPMessage.mostParts)
        #expect(throws: RTMPError.self) { try aggregate(RTMPMessage.mostParts + 1).parts() }
    }

    /// Messages of 16 MiB, one on each chunk stream, arriving one mebibyte at a time.
    @Test func whatIsUnfinishedHasALimitOverAllChunkStreams() {
        var reader = RTMPChunkReader()
        var peer = RTMPPeer()
        let piece = [UInt8](repeating: 1, count: 1 << 20)
        var begun = 0
        var failure: RTMPError?
        do throws(RTMPError) {
            _ = try reader.read(peer.message(.setChunkSize, RTMPPeer.number(1 << 20, 4), on: 2)[...])
            for id: UInt8 in 3..<60 {
                _ = try reader.read([id, 0, 0, 0, 0xFF, 0xFF, 0xFF, 9, 1, 0, 0, 0][...])
                _ = try reader.read(piece[...])
                begun += 1
            }
        } catch { failure = error }
        #expect(failure?.description.contains("32 MiB of unfinished messages") == true)
        #expect(16...32 ~= begun)
    }
}
