import Foundation
import MixModel
import NIOCore
import NIOPosix
import Synchronization

/// Measures the time from an event to the plan at the relay, at a steady rate of events.
enum PlanBenchmark {
    static let rate = 500

    static func run(_ binary: String, rooms: Int, seconds: Int) async throws {
        let server = try Server(binary, outputs: ["rtmp://127.0.0.1:1/out/{room}"])
        let relays = RelayStandIns()
        defer {
            server.stop()
            relays.stop()
        }
        let names = (0..<rooms).map { "room\($0)" }
        try await relays.listen(
            tasks: names.map { .automatic(for: RoomID($0)) }, directory: server.directory + "/data/relays")
        try await server.start()
        try await publish(names, server)
        while relays.connectedCount < rooms { try await Task.sleep(for: .milliseconds(50)) }
        // Plans that were held back while the rooms were filled.
        try await Task.sleep(for: .seconds(2))
        _ = relays.takeArrivals()

        let before = server.processorTime()
        let sent = try await mute(names, server, count: rate * seconds)
        try await Task.sleep(for: .seconds(1))
        let processor = server.processorTime() - before
        var (fromSending, fromReceipt): ([Int64], [Int64]) = ([], [])
        // The events of a room are further apart than the debounce window, so each gets one plan.
        var waiting = sent.mapValues { $0[...] }
        for arrival in relays.takeArrivals() {
            guard let time = waiting[arrival.room]?.popFirst() else { continue }
            fromSending.append(arrival.at - time)
            fromReceipt.append(arrival.at - arrival.causedAt)
        }
        let missing = waiting.values.reduce(0) { $0 + $1.count }
        print(
            """
            \(rate) events/s over \(rooms) rooms for \(seconds) s, relays that report every second, \
            service \(Int(processor / Double(seconds) * 100)) % of a core, \(missing) events without a plan
            request sent → relay told: \(Latencies(fromSending).summary)
            event received → relay told: \(Latencies(fromReceipt).summary)
            """)
    }

    private static func publish(_ rooms: [String], _ server: Server) async throws {
        let next = Mutex(0)
        let result = try await Load(port: server.port, connections: 8).run { _ in
            let number = next.withLock { next in
                defer { next += 1 }
                return next
            }
            guard number < rooms.count * 2 else { return nil }
            let (room, user) = (rooms[number / 2], number % 2)
            return event(
                "stream.published", room, #"{"user":"user\#(user)","url":"rtmp://127.0.0.1:1/\#(room)-\#(user)"}"#)
        }
        guard result.statuses == [202: rooms.count * 2] else {
            throw BenchmarkError("rooms could not be filled: \(result.statuses)")
        }
    }

    /// Sends events at the rate, regardless of the answers.
    ///
    /// - Returns: Times at which the events of each room were sent, in ns of CLOCK_MONOTONIC.
    private static func mute(_ rooms: [String], _ server: Server, count: Int) async throws -> [RoomID: [Int64]] {
        let (connections, port) = (16, server.port)
        let interval = 1_000_000_000 / Int64(rate) * Int64(connections)
        let start = monotonicTime() + 100_000_000
        let sent = Times()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for connection in 0..<connections {
                group.addTask {
                    var number = connection
                    var due = start + interval * Int64(connection) / Int64(connections)
                    let line = try await PacedConnection.open(port: port)
                    while number < count {
                        let left = due - monotonicTime()
                        if left > 0 { try await Task.sleep(for: .nanoseconds(left)) }
                        let room = rooms[number % rooms.count]
                        sent.add(monotonicTime(), of: RoomID(room))
                        try await line.send(
                            event(
                                "stream.updated", room, #"{"user":"user1","audio":\#(number / rooms.count % 2 == 1)}"#))
                        number += connections
                        due += interval
                    }
                    try await line.close()
                }
            }
            try await group.waitForAll()
        }
        return sent.all
    }

    private static func event(_ type: String, _ room: String, _ data: String) -> ByteBuffer {
        let id = UInt64.random(in: 0 ... .max)
        return HTTPCaller.request(
            "POST", "/v1/events", type: "application/cloudevents+json",
            """
            {"specversion":"1.0","id":"\(id)","source":"/bench","type":"\(type)","subject":"\(room)","data":\(data)}
            """)
    }
}

/// The times at which events were sent, recorded by many connections.
private final class Times: Sendable {
    private let times = Mutex<[RoomID: [Int64]]>([:])
    var all: [RoomID: [Int64]] { times.withLock { $0 } }
    func add(_ time: Int64, of room: RoomID) { times.withLock { $0[room, default: []].append(time) } }
}

/// A connection whose answers are discarded.
struct PacedConnection: Sendable {
    private let channel: any Channel

    static func open(port: Int) async throws -> PacedConnection {
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(HTTPCaller())
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        return PacedConnection(channel: channel)
    }

    func send(_ request: ByteBuffer) async throws { try await channel.writeAndFlush(request) }
    func close() async throws { try await channel.close() }
}
