import Foundation
import Logging
import MixModel
import Synchronization
import TestSupport
import Testing

@testable import RTMP
@testable import StreamIngest

/// Players that do not read and clients in excess, on real sockets.
@Suite(.serialized, .timeLimit(.minutes(5))) struct IngestCrowdTests {
    private static func frame(_ timestamp: UInt32, bytes: Int) -> [UInt8] {
        var message: [UInt8] = []
        let body: [UInt8] = [0x17, 1, 0, 0, 0] + [UInt8](repeating: 0x55, count: bytes)
        var writer = RTMPChunkWriter()
        writer.chunkSize = 1 << 16
        writer.append(.video, on: 6, timestamp: timestamp, stream: 1, body: body[...], to: &message)
        return message
    }

    /// A slow player first misses frames, then is disconnected, and costs neither memory nor another player's time.
    @Test func aPlayerThatDoesNotReadIsDisconnected() async throws {
        let rig = try await IngestRig.start()
        defer { rig.stop() }
        let publisher = RawClient(port: rig.port ?? 0)
        publisher.begin("publish", "alice")
        let quick = try IngestPlayer(rig.pullURL("alice"))
        #expect(try await outputEventually { quick.progress.hasBegun && rig.figures?.publishers == 1 })
        var setup: [UInt8] = []
        let writer = RTMPChunkWriter()
        writer.append(.setChunkSize, on: 2, body: [0, 1, 0, 0], to: &setup)
        writer.append(.video, on: 6, stream: 1, body: [0x17, 0, 0, 0, 0, 1, 100, 0, 31], to: &setup)
        publisher.send(setup)
        let slow = RawClient(port: rig.port ?? 0, receiveBuffer: 1 << 14)
        slow.begin("play", "alice")
        #expect(try await outputEventually { rig.figures?.players == 2 })
        let before = rig.residentBytes
        var largest = 0
        let start = ContinuousClock.now
        var number: UInt32 = 0
        while rig.figures?.players == 2, ContinuousClock.now - start < .seconds(120) {
            publisher.send(Self.frame(number * 20, bytes: 100_000))
            number += 1
            if number % 50 == 0 { largest = max(largest, rig.residentBytes) }
            try await Task.sleep(for: .milliseconds(20))
        }
        let took = ContinuousClock.now - start
        #expect(rig.figures?.players == 1 && took > .seconds(10), "\(took), \(String(describing: rig.figures))")
        #expect(
            try await outputEventually { rig.log.contains("a player was disconnected, because it does not read") })
        #expect(await slow.isClosed(within: 30))
        func pictures() -> [Int64] {
            quick.progress.tags.filter { $0.kind == .video && $0.head.dropFirst().first == 1 }.map(\.arrival)
        }
        #expect(try await outputEventually { pictures().count > Int(number) - 20 })
        let arrivals = pictures()
        let gaps = zip(arrivals, arrivals.dropFirst()).map { ($1 - $0) / 1_000_000 }.sorted()
        try #require(!gaps.isEmpty, "\(rig.log)")
        let (most, gap) = (gaps[gaps.count * 95 / 100], gaps.last ?? .max)
        print("\(number) frames in \(took), pauses \(most) ms, \(gap) ms, \((largest - before) >> 20) MiB more")
        #expect(quick.progress.end == nil)
        // Waiting for the slow player would take ten seconds, or delay every picture.
        #expect(most < 250 && gap < 5_000, "\(gaps.suffix(20))")
        #expect(largest - before < 48 << 20)
        quick.stop()
    }

    /// Each address has a limited number of places. The server runs in this process, and treats its loopback clients as
    /// strangers.
    @Test func placesAreLimitedForEachAddress() async throws {
        let reports = Mutex<[IngestReport]>([])
        var limits = ConnectionPlaces.Limits(all: 10, remote: 8, perAddress: 3, undecided: 5)
        limits.exemptsLoopback = false
        let loop = SocketLoop.shared
        let (servers, server) = AsyncStream.makeStream(of: IngestServer.self)
        loop.perform { [limits] in
            let new = IngestServer(
                run: "r", connections: limits, logger: Logger(label: "ingest") { _ in SwiftLogNoOpLogHandler() }
            ) { report in reports.withLock { $0.append(report) } }
            new.handle(.configure(IngestSettings(host: "127.0.0.1", port: 0, grace: 1, secret: IngestRig.secret)))
            server.yield(new)
        }
        var iterator = servers.makeAsyncIterator()
        let ingest = try #require(await iterator.next())
        defer { loop.perform { ingest.close() } }
        func port() -> Int? {
            reports.withLock { $0 }.lazy.compactMap { if case .listening(let port) = $0 { port } else { nil } }.last
        }
        #expect(try await outputEventually { port() != nil })
        let first = (0..<3).map { _ in RawClient(port: port() ?? 0, from: "127.0.0.2") }
        let fourth = RawClient(port: port() ?? 0, from: "127.0.0.2")
        #expect(await fourth.isClosed(within: 30), "three of one address")
        let others = (0..<2).map { _ in RawClient(port: port() ?? 0, from: "127.0.0.3") }
        for client in first + others { #expect(await client.isClosed(within: 0.1) == false) }
        // One more client displaces the oldest that has made no request.
        let late = RawClient(port: port() ?? 0, from: "127.0.0.4")
        #expect(await first[0].isClosed(within: 30))
        #expect(await late.isClosed(within: 0.1) == false)
        for client in first.dropFirst() + others { #expect(await client.isClosed(within: 0.1) == false) }
        // The closed client's place is free again.
        let again = RawClient(port: port() ?? 0, from: "127.0.0.2")
        #expect(await again.isClosed(within: 0.1) == false)
        #expect(await first[1].isClosed(within: 30), "which is now the oldest")
    }
}
