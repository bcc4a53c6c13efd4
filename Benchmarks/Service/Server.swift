import Foundation

/// The reason why a benchmark cannot run.
struct BenchmarkError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// The real service as a process of its own, on a free port and with a data directory that is removed when it ends.
final class Server {
    let port: Int
    let directory: String
    private let binary: String
    private var process = Process()

    static let startLimit: TimeInterval = 20
    static let stopLimit: TimeInterval = 12

    /// Writes the configuration of a service.
    ///
    /// - Parameters:
    ///   - binary: Path of `mixorchestrator`.
    ///   - outputs: Destinations of every room. Without any, rooms have no tasks.
    ///   - node: Name of the node and URL of the database, if it shares rooms with others.
    ///   - configuration: Further configuration, in whole lines.
    init(
        _ binary: String, outputs: [String] = [], node: (name: String, database: String)? = nil,
        configuration more: String = ""
    ) throws {
        // The path is short because it contains sockets.
        directory = "/tmp/mob-\(String(UInt32.random(in: 0 ... .max), radix: 36))"
        let port = try Self.freePort()
        self.port = port
        for name in ["data/relays", "layouts"] {
            try FileManager.default.createDirectory(
                atPath: "\(directory)/\(name)", withIntermediateDirectories: true)
        }
        let sharing = node.map { node in
            """
            store: { url: "\(node.database)" }
            node: { id: "\(node.name)", url: "http://127.0.0.1:\(port)" }
            """
        }
        let list = outputs.map { "\"\($0)\"" }.joined(separator: ", ")
        let configuration = """
            http: { listen: "127.0.0.1:\(port)", rate: { requests: 0, events: 0 } }
            admission: { cores: 0 }
            data: "\(directory)/data"
            layouts: "\(directory)/layouts"
            rooms: { outputs: [\(list)] }
            log: { level: error }
            \(sharing ?? "")
            \(more)
            """
        try configuration.write(toFile: directory + "/config.yaml", atomically: true, encoding: .utf8)
        self.binary = binary
    }

    static func freePort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length) == 0 && getsockname(descriptor, pointer, &length) == 0
            }
        }
        guard result else { throw BenchmarkError("no free port on 127.0.0.1") }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    /// Starts the process without waiting until it serves.
    func launch() throws {
        process = Process()
        process.executableURL = URL(fileURLWithPath: binary)
        process.arguments = ["serve", "--config", directory + "/config.yaml"]
        process.standardOutput = FileHandle.nullDevice
        _ = FileManager.default.createFile(atPath: directory + "/log", contents: nil)
        process.standardError = FileHandle(forWritingAtPath: directory + "/log")
        try process.run()
    }

    /// Kills the process, as `kill -9` does.
    func kill() {
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Starts the process and returns when the service is ready.
    func start() async throws {
        try launch()
        let limit = Date().addingTimeInterval(Self.startLimit)
        while Date() < limit {
            guard process.isRunning else { break }
            if try await isReady() { return }
            try await Task.sleep(for: .milliseconds(20))
        }
        let log = (try? String(contentsOfFile: directory + "/log", encoding: .utf8)) ?? ""
        throw BenchmarkError("the service did not become ready:\n\(log.suffix(2000))")
    }

    /// Asks `/healthz`: `/readyz` also fails where media cannot be processed, which these benchmarks do not need.
    private func isReady() async throws -> Bool {
        let answer = try? await HTTPCaller.answer(port: port, HTTPCaller.request("GET", "/healthz"))
        return answer == 200
    }

    /// Returns the resident memory in MiB.
    func residentMemory() -> Int {
        let pages = try? String(contentsOfFile: "/proc/\(process.processIdentifier)/statm", encoding: .utf8)
            .split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return ((pages ?? 0) * Int(getpagesize())) >> 20
    }

    /// Returns the processor time of all threads so far, in seconds.
    func processorTime() -> Double { Self.processorTime(of: process.processIdentifier) }

    static func processorTime(of process: Int32) -> Double {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return 0 }
        let fields = text[end...].split(separator: " ")
        let ticks = [12, 13].compactMap { fields.indices.contains($0) ? Double(fields[$0]) : nil }.reduce(0, +)
        return ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Returns the sizes of the store's files in bytes.
    func storeSize() -> [String: Int] {
        var sizes: [String: Int] = [:]
        for suffix in ["", "-wal"] {
            let path = directory + "/data/orchestrator.sqlite" + suffix
            sizes["sqlite" + suffix] = (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
        }
        return sizes
    }

    /// Ends the process and removes its directory.
    func stop() {
        if process.isRunning {
            process.terminate()
            let limit = Date().addingTimeInterval(Self.stopLimit)
            while process.isRunning, Date() < limit { usleep(20_000) }
            if process.isRunning { kill() }
            process.waitUntilExit()
        }
        try? FileManager.default.removeItem(atPath: directory)
    }
}
