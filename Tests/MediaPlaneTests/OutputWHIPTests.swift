import EncodedMedia
import Foundation
import MixModel
import TestSupport
import Testing

@testable import MediaFormats
@testable import ProgramRelay

/// WHIP destinations of a real worker, received by `mixworker whip` and played from an ingest.
@Suite(.serialized, .timeLimit(.minutes(6))) struct OutputWHIPTests {
    private static func output(_ url: String) throws -> DestinationOutput {
        let worker = URL(filePath: try WorkerStartTests.executable())
        return DestinationOutput(
            PushDestination(id: "o", url: url), reach: .loopback, preamble: [],
            connect: { url, limits, _ in try WHIPOutput.connection(url, limits, worker: worker) })
    }

    /// Returns the pictures of a program that are not dropped because of their order, without parameter sets.
    private static func pictures(of tags: [FLVTag]) -> [[UInt8]] {
        tags.compactMap { tag in
            guard case .frame(.video, _) = tag.role else { return nil }
            let payload = Array(tag.body.dropFirst(5))
            let isDisposable = NALUnits(payload).allSatisfy { ($0.first ?? 0) & 0x60 == 0 }
            return isDisposable ? nil : WhipClient.pictureParts(payload)
        }
    }

    @Test func picturesComeByteForByteAndSoundWithoutAGap() async throws {
        let ingest = try await IngestRig.start()
        let server = try WHIPServer(ingest: ingest, token: "s3cret/token")
        let player = try WholePlayer(ingest.pullURL("alice"))
        let tags = try await outputProgram(seconds: 60)
        let output = try Self.output("whip://s3cret%2Ftoken@127.0.0.1:\(server.port)/moved/alice")
        let start = ContinuousClock.now
        try await output.whilePlaying(tags) { () async throws in
            #expect(try await outputEventually { output.status.state == .live }, "\(output.status)")
            print("live after \(ContinuousClock.now - start)")
            #expect(
                try await outputEventually {
                    let sounds = player.tags.filter(\.isSound).count
                    return player.pictures.count > 60 && sounds > 100
                }, "\(player.pictures.count) pictures, \(output.status)\n\(server.workers.map(\.log))")
        }
        print("\(output.status)")
        #expect(output.status.reconnects == 0 && output.droppedFrames == 0 && output.status.bytesSent > 50_000)
        await output.close()
        let sent = Self.pictures(of: tags)
        let places = player.pictures.map { picture in sent.firstIndex(of: picture.unit) ?? -1 }
        let first = try #require(places.first)
        #expect(first >= 0 && places == Array(first..<first + places.count), "\(places) of \(sent.count)")
        let times = player.pictures.map(\.timestamp)
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 <= $1 })
        let sound = player.tags.filter(\.isSound).map(\.timestamp)
        let gaps = zip(sound, sound.dropFirst()).map { Int($1) - Int($0) }
        #expect(sound.count > 100 && gaps.allSatisfy { 20...23 ~= $0 }, "\(gaps)")

        #expect(try await outputEventually { server.requests.count >= 3 })
        let requests = server.requests
        #expect(requests.map(\.method) == ["POST", "POST", "DELETE"], "\(requests)")
        #expect(requests.allSatisfy { $0.fields["authorization"] == "Bearer s3cret/token" })
        #expect(requests[0].fields["content-type"] == "application/sdp" && requests[2].path == "/sessions/alice")
        // A number that stands for two formats loses the packets of one of them.
        let numbers = requests[1].body.split(separator: "\r\n").filter { $0.hasPrefix("a=rtpmap:") }
            .map { $0.prefix { $0 != " " } }
        #expect(numbers.count >= 3 && Set(numbers).count == numbers.count, "\(numbers)")
        #expect(requests[1].body.contains("profile-level-id=") && requests[1].body.contains("opus/48000/2"))
        player.stop()
        server.stop()
        ingest.stop()
    }

    @Test func aReceiverThatIsKilledIsFoundAgain() async throws {
        let ingest = try await IngestRig.start()
        let server = try WHIPServer(ingest: ingest)
        let output = try Self.output("whip://127.0.0.1:\(server.port)/whip/alice")
        let player = try WholePlayer(ingest.pullURL("alice"))
        try await output.whilePlaying(try await outputProgram(seconds: 90)) { () async throws in
            #expect(
                try await outputEventually { player.pictures.count > 20 },
                "\(output.status)\n\(server.workers.map(\.log))")
            server.workers[0].process.signal(SIGKILL)
            let killed = ContinuousClock.now
            #expect(
                try await outputEventually(within: .seconds(60)) { output.status.reconnects == 1 }, "\(output.status)")
            print("live again after \(ContinuousClock.now - killed): \(output.status)")
            #expect(output.status.lastErrorCode == .connectionLost && output.status.state == .live)
            let again = try WholePlayer(ingest.pullURL("alice"))
            #expect(try await outputEventually { again.pictures.count > 20 })
            again.stop()
        }
        await output.close()
        player.stop()
        server.stop()
        ingest.stop()
    }

    @Test func aServerThatIsAwayIsFoundAgain() async throws {
        let ingest = try await IngestRig.start()
        let port = try ReservedPort()
        let output = try Self.output("whip://127.0.0.1:\(port.number)/whip/alice")
        try await output.whilePlaying(try await outputProgram(seconds: 60)) { () async throws in
            #expect(
                try await outputEventually { output.status.lastErrorCode == .connectionRefused }, "\(output.status)")
            #expect(output.status.state == .connecting || output.status.state == .recovering)
            let server = try WHIPServer(ingest: ingest, port: port.number)
            #expect(try await outputEventually { output.status.state == .live }, "\(output.status)")
            server.stop()
        }
        await output.close()
        ingest.stop()
    }

    @Test func aWrongTokenIsARefusalWithoutTheToken() async throws {
        let ingest = try await IngestRig.start()
        let server = try WHIPServer(ingest: ingest, token: "right")
        let output = try Self.output("whip://an+other%2Fsecret@127.0.0.1:\(server.port)/whip/alice")
        try await output.whilePlaying(try await outputProgram(seconds: 60)) { () async throws in
            #expect(try await outputEventually { output.status.lastErrorCode == .publishRefused }, "\(output.status)")
        }
        let words = output.status.lastError ?? ""
        #expect(words.contains("bearer token (401)") && words.contains("is wrong"), "\(words)")
        #expect(!words.contains("secret") && output.status.state == .recovering, "\(words)")
        await output.close()
        server.stop()
        ingest.stop()
    }

    @Test func aProgramOfH265IsRefusedInWords() async throws {
        let ingest = try await IngestRig.start()
        let server = try WHIPServer(ingest: ingest)
        let output = try Self.output("whip://127.0.0.1:\(server.port)/whip/alice")
        // Enhanced RTMP: a packet of type sequence start for hvc1.
        output.send([
            FLVTag(role: .sequenceHeader(.video), timestamp: 0, body: [0x90] + Array("hvc1".utf8) + Self.hevcRecord)
        ])
        output.send([FLVTag(role: .frame(.audio, isIDR: false), timestamp: 1, body: [0xAF, 1, 1])])
        #expect(try await outputEventually { output.status.lastError?.contains("H.265") == true }, "\(output.status)")
        #expect(server.requests.isEmpty)
        await output.close()
        server.stop()
        ingest.stop()
    }

    /// A decoder configuration record without parameter sets (ISO/IEC 14496-15 §8.3.3.1).
    private static let hevcRecord: [UInt8] = [1] + [UInt8](repeating: 0, count: 20) + [0x0F, 0]

    @Test(arguments: ["whip://", "whip://127.0.0.1:99999/x", "whips://a:b@127.0.0.1/x"])
    func aBadURLFailsForGood(url: String) async throws {
        let output = try Self.output(url)
        #expect(try await outputEventually { output.status.state == .failed })
        #expect(output.status.lastErrorCode == .badURL, "\(output.status)")
        await output.close()
    }

    @Test func anAddressOutsideTheListIsNotConnectedTo() async throws {
        let output = try Self.output("whips://192.0.2.1/whip/x")
        #expect(try await outputEventually { output.status.lastErrorCode == .notAllowed }, "\(output.status)")
        #expect(output.status.lastError?.contains("whips://192.0.2.1:443") == true, "\(output.status)")
        await output.close()
    }
}
