import Foundation

/// Measures how long a killed service is away: from its start to `/readyz`, and until it controls every relay again.
///
/// The relays are real and copy a real stream meanwhile, and there is a room for every one of many streams that nothing
/// mixes.
///
/// `mixworker` has to be beside `mixorchestrator`; the working directory is the package's root.
enum RestartBenchmark {
    static func run(_ binary: String, rooms: Int, relays: Int, times: Int = 3) async throws {
        let worker = URL(fileURLWithPath: binary).deletingLastPathComponent().appendingPathComponent("mixworker").path
        guard access(worker, X_OK) == 0 else {
            print("restart: skipped, mixworker is not at \(worker)\n")
            return
        }
        print("restart with \(rooms) rooms and \(relays) running relays")
        let server = try Server(binary)
        defer { server.stop() }
        try await server.start()
        let media = try MediaServer(directory: server.directory + "/media")
        defer { media.stop() }
        // A small stream: the work of the relays is not measured.
        let publisher = Process()
        publisher.executableURL = URL(fileURLWithPath: worker)
        publisher.arguments = [
            "publish", media.url("live/one"), "--size", "160x160", "--fps", "10", "--bitrate", "50000", "--silent",
        ]
        publisher.standardError = FileHandle.nullDevice
        try publisher.run()
        defer { publisher.terminate() }
        for number in 0..<rooms - relays { try await publish("r\(number)", "rtmp://127.0.0.1:1/live/alice", server) }
        for number in 0..<relays {
            let settings = #"{"outputs":[{"id":"main","url":"\#(media.url("cdn/\(number)"))"}]}"#
            try await send("PUT", "/v1/rooms/air\(number)", settings, server)
            try await publish("air\(number)", media.url("live/one"), server)
            while runningTasks(server) <= number { try await Task.sleep(for: .milliseconds(100)) }
        }
        try await Task.sleep(for: .seconds(5))
        for _ in 0..<times {
            let before = relayProcesses(server)
            server.kill()
            let begin = ContinuousClock.now
            try server.launch()
            while !isReady(server) { try await Task.sleep(for: .milliseconds(5)) }
            let ready = ContinuousClock.now - begin
            while runningTasks(server) < relays { try await Task.sleep(for: .milliseconds(5)) }
            let controlled = ContinuousClock.now - begin
            let isSame = relayProcesses(server) == before && before.count == relays
            print(
                "  ready after \(milliseconds(ready)) ms, all relays controlled after \(milliseconds(controlled)) ms, "
                    + "\(isSame ? "the same processes" : "NOT the same processes"), \(server.residentMemory()) MiB")
            try await Task.sleep(for: .seconds(2))
        }
        print("")
    }

    private static func publish(_ room: String, _ url: String, _ server: Server) async throws {
        let event = #"{"type":"stream.published","user":"alice","url":"\#(url)"}"#
        try await send("POST", "/v1/rooms/\(room)/events", event, server)
    }

    private static func send(_ method: String, _ path: String, _ body: String, _ server: Server) async throws {
        let status = try await HTTPCaller.answer(port: server.port, HTTPCaller.request(method, path, body))
        guard 200..<300 ~= status else { throw BenchmarkError("\(method) \(path): \(status)") }
    }

    private static func isReady(_ server: Server) -> Bool {
        text("/readyz", server)?.hasPrefix("HTTP/1.1 200") ?? false
    }

    /// Returns the number of tasks whose relay is connected.
    private static func runningTasks(_ server: Server) -> Int {
        let line = text("/metrics", server)?.split(whereSeparator: \.isNewline).first {
            $0.contains("tasks{state=\"running\"}")
        }
        return line?.split(separator: " ").last.flatMap { Int($0) } ?? 0
    }

    private static func relayProcesses(_ server: Server) -> Set<Int32> {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return Set(
            names.compactMap { Int32($0) }.filter { process in
                let line = FileManager.default.contents(atPath: "/proc/\(process)/cmdline") ?? Data()
                let words = line.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
                return words.dropFirst().first == "relay" && words.contains { $0.hasPrefix(server.directory) }
            })
    }

    /// Returns a whole answer with its head, over a connection of its own; `nil` if there is none.
    private static func text(_ path: String, _ server: Server) -> String? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(server.port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        let request = "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        guard isConnected, write(descriptor, request, request.utf8.count) > 0 else { return nil }
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while case let count = read(descriptor, &buffer, buffer.count), count > 0 { answer += buffer[..<count] }
        return String(decoding: answer, as: UTF8.self)
    }

    private static func milliseconds(_ duration: Duration) -> Int {
        Int(duration / .milliseconds(1))
    }
}
