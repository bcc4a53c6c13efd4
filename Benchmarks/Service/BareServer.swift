import Foundation
import Hummingbird

/// Hummingbird with one route and nothing else, as a process of its own: a reference for the speed of this machine at
/// this time.
///
/// The aims were set on a machine where it answers `referenceRate` requests per second. On a slower machine only the
/// ratio is meaningful.
enum BareServer {
    static let command = "bare"
    /// Requests per second from 64 connections on 2 cores, including the load generator.
    static let referenceRate = 69_000.0

    /// Serves until the process ends.
    static func serve(port: Int) async throws {
        let router = Router()
        router.get("/") { _, _ in "ok" }
        let address = ApplicationConfiguration(address: .hostname("127.0.0.1", port: port))
        try await Application(router: router, configuration: address).runService()
    }

    /// Measures the requests per second that this server answers and the result of `rate` by turns, and prints the
    /// median of the ratios.
    ///
    /// The measurements alternate because machines change their speed from minute to minute.
    ///
    /// - Parameter aim: The result that `rate` should have on a machine where this server answers `referenceRate`.
    static func compare(
        _ name: String, connections: Int, count: Int, aim: Double, with rate: () async throws -> Double
    ) async throws {
        let port = try Server.freePort()
        let process = try launch(port)
        defer {
            process.terminate()
            process.waitUntilExit()
        }
        try await awaitAnswer(of: process, port)
        let request = HTTPCaller.request("GET", "/")
        let load = Load(port: port, connections: connections)
        _ = try await load.run(request, count: count)
        var ratios: [Double] = []
        var answers: [Double] = []
        for _ in 0..<rounds {
            answers.append(Double(count) / (try await load.run(request, count: count).seconds))
            ratios.append(try await rate() / (answers.last ?? 1))
        }
        func share(_ ratio: Double) -> String { String(format: "%.3f", ratio) }
        let sorted = ratios.sorted()
        print(
            """
            \(name): \(share(sorted[rounds / 2])) of bare Hummingbird (\(share(sorted[0]))–\(share(sorted[rounds - 1])) in \
            \(rounds) alternating rounds), which answers \(Int(answers.sorted()[rounds / 2])) requests/s here; \
            the aim is \(share(aim / referenceRate))
            """)
    }

    private static let rounds = 11

    private static func launch(_ port: Int) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = [command, "\(port)"]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        return process
    }

    private static func awaitAnswer(of process: Process, _ port: Int) async throws {
        let limit = Date().addingTimeInterval(Server.startLimit)
        while await (try? HTTPCaller.answer(port: port, HTTPCaller.request("GET", "/"))) != 200 {
            guard process.isRunning, Date() < limit else { throw BenchmarkError("bare Hummingbird does not serve") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
