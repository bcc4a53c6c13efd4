import Foundation
import NIOCore
import Synchronization

/// Measures how many events per second are stored durably, and how long a client waits for an answer.
enum EventBenchmark {
    static let connections = 64
    static let rooms = 1000
    /// Aim in durable events per second.
    private static let aim = 15_000

    /// Runs the benchmark.
    ///
    /// - Parameter count: Number of single events, and then of events in batches of each size.
    static func run(_ binary: String, count: Int) async throws {
        let server = try Server(binary)
        defer { server.stop() }
        try await server.start()
        let load = Load(port: server.port, connections: connections)
        // Creates the rooms and fills caches.
        try await measure("warm-up", server, load, events: min(count, 20_000), batch: 1)
        try await measureHealth(server, load, count: count)
        try await measure("single events", server, load, events: count, batch: 1)
        try await BareServer.compare("single events", connections: connections, count: count / 10, aim: Double(aim)) {
            try await rate(load, events: count / 10, batch: 1).rate
        }
        for batch in [2, 4, 20] {
            try await measure("batches of \(batch)", server, load, events: count, batch: batch)
        }
        // Measures latency when `aim` events are due each second, whatever the service does.
        try await measure("batches of 10 at \(aim) events/s", server, load, events: aim * 30, batch: 10, pace: aim)
        print(
            "store: \(server.storeSize().sorted { $0.key < $1.key }.map { "\($0.key) \($0.value >> 20) MiB" }.joined(separator: ", "))"
        )
    }

    /// Measures answers for which nothing is stored, on the same connections: the cost of the service's HTTP.
    private static func measureHealth(_ server: Server, _ load: Load, count: Int) async throws {
        let request = HTTPCaller.request("GET", "/healthz")
        let before = server.processorTime()
        let result = try await load.run(request, count: count)
        let processor = server.processorTime() - before
        let answers = result.statuses.values.reduce(0, +)
        print(
            """
            GET /healthz: \(Int(Double(answers) / result.seconds)) answers/s, \(Latencies(result.latencies).summary), \
            service \(Int(processor / Double(max(1, answers)) * 1e6)) µs of processor time each
            """)
    }

    private static func measure(
        _ name: String, _ server: Server, _ load: Load, events: Int, batch: Int, pace: Int? = nil
    ) async throws {
        let before = server.processorTime()
        let (rate, result) = try await rate(load, events: events, batch: batch, pace: pace)
        let processor = server.processorTime() - before
        print(
            """
            \(name): \(Int(rate)) durable events/s from \(connections) connections over \(rooms) rooms, \
            \(Latencies(result.latencies).summary), answers \(result.statuses), \
            service \(Int(processor / max(1, rate * result.seconds) * 1e6)) µs of processor time per event
            """)
    }

    /// Sends the events.
    ///
    /// - Parameters:
    ///   - pace: Events that are due each second; `nil` = as fast as answers come.
    ///   - prefix: Beginning of the names of the rooms.
    /// - Returns: Durable events per second, and the answers.
    static func rate(
        _ load: Load, events: Int, batch: Int, pace: Int? = nil, prefix: String = "room"
    ) async throws -> (rate: Double, result: Load.Result) {
        let run = UInt32.random(in: 0 ... .max)
        // Written beforehand, as calls are: real clients have cores of their own.
        let requests = stride(from: 0, to: events, by: batch).map { request($0..<$0 + batch, run, prefix) }
        let next = Mutex(0)
        let result = try await load.run(rate: pace.map { Double($0) / Double(batch) }) { _ in
            let number = next.withLock { next in
                defer { next += 1 }
                return next
            }
            return number < requests.count ? requests[number] : nil
        }
        return (Double((result.statuses[202] ?? 0) * batch) / result.seconds, result)
    }

    /// Returns a request in which participants publish, mute and unmute. Every event changes its room.
    private static func request(_ numbers: Range<Int>, _ run: UInt32, _ prefix: String) -> ByteBuffer {
        let events = numbers.map { number in event(number, run, prefix) }
        guard events.count > 1 else {
            return HTTPCaller.request("POST", "/v1/events", type: "application/cloudevents+json", events[0])
        }
        return HTTPCaller.request(
            "POST", "/v1/events", type: "application/cloudevents-batch+json",
            "[" + events.joined(separator: ",") + "]")
    }

    private static func event(_ number: Int, _ run: UInt32, _ prefix: String) -> String {
        let room = "\(prefix)\(number % rooms)"
        let user = number / rooms % 3
        let isPublished = number / rooms / 3 % 2 == 0
        let data =
            isPublished
            ? #"{"user":"user\#(user)","url":"rtmp://127.0.0.1/live/\#(room)-user\#(user)","role":"guest"}"#
            : #"{"user":"user\#(user)","audio":\#(number / rooms / 6 % 2 == 0)}"#
        let type = isPublished ? "stream.published" : "stream.updated"
        return """
            {"specversion":"1.0","id":"\(run)-\(room)-\(number)","source":"/bench","type":"\(type)","subject":"\(room)",\
            "time":"2026-01-31T12:00:00Z","sequence":"\(UInt64(run) << 32 + UInt64(number))","data":\(data)}
            """
    }
}
