import Foundation
import NIOCore
import Synchronization

/// Shows whether memory stays flat while events and rooms come and go.
enum MemoryBenchmark {
    private static let connections = 64
    private static let steps = 10

    static func run(_ binary: String, events: Int, rooms: Int) async throws {
        let server = try Server(binary)
        defer { server.stop() }
        try await server.start()
        let load = Load(port: server.port, connections: connections)
        print("memory at the start: \(server.residentMemory()) MiB")
        for step in 0..<steps {
            let result = try await repeatedEvents(load, events / steps, step)
            report("\((step + 1) * (events / steps)) events in 1000 rooms", server, result)
        }
        for step in 0..<steps {
            let result = try await comeAndGo(load, rooms / steps, step)
            report("\((step + 1) * (rooms / steps)) rooms come and gone", server, result)
        }
    }

    private static func report(_ what: String, _ server: Server, _ result: Load.Result) {
        let sizes = server.storeSize().sorted { $0.key < $1.key }.map { "\($0.key) \($0.value >> 20) MiB" }
        print(
            "\(what): memory \(server.residentMemory()) MiB, \(sizes.joined(separator: ", ")), "
                + "\(Int(Double(result.latencies.count) / result.seconds)) requests/s, answers \(result.statuses)")
    }

    private static func repeatedEvents(_ load: Load, _ count: Int, _ step: Int) async throws -> Load.Result {
        let next = Mutex(0)
        return try await load.run { _ in
            let number = next.withLock { next in
                defer { next += 1 }
                return next
            }
            guard number < count else { return nil }
            return event(
                "stream.updated", room: "room\(number % 1000)", #"{"user":"u","audio":\#(number / 1000 % 2 == 0)}"#)
        }
    }

    /// Takes one room after another through its life on every connection.
    private static func comeAndGo(_ load: Load, _ count: Int, _ step: Int) async throws -> Load.Result {
        let next = Mutex(0)
        let lives = Mutex([Int: (room: String, phase: Int)]())
        return try await load.run { connection in
            var (room, phase) = lives.withLock { $0[connection] } ?? ("", 5)
            if phase == 5 {
                let number = next.withLock { next in
                    defer { next += 1 }
                    return next
                }
                guard number < count else { return nil }
                (room, phase) = ("passing\(step)-\(number)", 0)
            }
            lives.withLock { $0[connection] = (room, phase + 1) }
            switch phase {
            case 0: return event("room.opened", room: room, "{}")
            case 1: return event("stream.published", room: room, #"{"user":"u","url":"rtmp://127.0.0.1/live/u"}"#)
            case 2: return event("stream.unpublished", room: room, #"{"user":"u"}"#)
            case 3: return event("room.closed", room: room, "{}")
            default: return HTTPCaller.request("DELETE", "/v1/rooms/\(room)")
            }
        }
    }

    private static func event(_ type: String, room: String, _ data: String) -> ByteBuffer {
        let id = UInt64.random(in: 0 ... .max)
        return HTTPCaller.request(
            "POST", "/v1/events", type: "application/cloudevents+json",
            """
            {"specversion":"1.0","id":"\(id)","source":"/bench","type":"\(type)","subject":"\(room)","data":\(data)}
            """)
    }
}
