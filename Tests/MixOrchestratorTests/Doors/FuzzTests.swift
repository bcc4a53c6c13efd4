import Foundation
import HTTPTypes
import HummingbirdTesting
import Logging
import NIOCore
import TaskStore
import TestSupport
import Testing

@testable import MixOrchestrator

/// Spoilt requests through every door: no crash, no 500, no growth. `MIX_FUZZ_REQUESTS` says how many.
@Suite(.timeLimit(.minutes(600))) struct FuzzTests {
    @Test func spoiltRequestsAreRefusedAndNothingElse() async throws {
        let seed = SeededGenerator(announcedFor: "FuzzTests").seed
        let count = ProcessInfo.processInfo.environment["MIX_FUZZ_REQUESTS"].flatMap { Int($0) } ?? 1000
        // The process always exits with success: the output of a failed one would be lost.
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            [seed = seed as UInt64, count = count as Int] in
            ThrownErrors.forget()
            do {
                if try await FuzzTests.run(seed: seed, count: count) { FuzzTests.say(FuzzTests.held) }
            } catch {
                FuzzTests.say("stopped by an error: \(error)")
            }
            exit(EXIT_SUCCESS)
        }
        let report = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        print(report)
        #expect(report.contains(Self.held), "\(report)")
    }

    private static let held = "no request was answered wrongly"

    private static func say(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
    }

    /// - Returns: Whether the run passed.
    private static func run(seed: UInt64, count: Int) async throws -> Bool {
        let outcome = LockedBox(Outcome(count: count))
        let settings = OpenAPIRequest.settings.merging([
            "http.rate.failures": ["0"], "http.rate.requests": ["0"], "http.rate.events": ["0"], "rooms.outputs": [],
        ]) { $1 }
        // Memory that the test keeps would count as growth of the service.
        let relays = ScriptedRelays(keepsHistory: false)
        try await withDirectory { directory in
            try OpenAPIRequest.fillDirectory(directory)
            // The store in memory searches all messages for each new one.
            let store = try await OpenAPIRequest.fill(SQLiteTaskStore(path: directory + "/store.sqlite"))
            let application = try await buildOrchestrator(
                testConfiguration(directory, settings), store: store, starter: relays,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            try await application.test(.live) { client in
                let bench = Bench(
                    client: client, relays: relays, store: store, directory: directory, log: LogRecorder())
                try await OpenAPIRequest.prepare(bench)
                let port = try #require(client.port)
                try await withThrowingTaskGroup { group in
                    for caller in 0..<callers {
                        let share = count / callers + (caller < count % callers ? 1 : 0)
                        group.addTask { try await call(share, seed: seed &+ UInt64(caller), port: port, outcome) }
                    }
                    try await group.waitForAll()
                }
            }
        }
        let result = outcome.value
        let growth = ProcessMemory.resident - result.settled
        say(
            "\(count) requests, seed \(seed): "
                + result.statuses.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", "))
        say("memory after a third \(result.settled >> 20) MiB, grown by \(growth >> 10) KiB since")
        // Many requests must have succeeded, not only have been refused.
        let isDeep = (result.statuses[200] ?? 0) * 20 > count && result.statuses.count >= 6
        return result.faults == 0 && isDeep && growth < mostGrowth
    }

    /// The number of concurrent callers: some requests wait 10 s for a program that never starts.
    private static let callers = 4

    /// Sends this number of requests, one after another.
    private static func call(
        _ count: Int, seed: UInt64, port: Int, _ outcome: LockedBox<Outcome>
    ) async throws {
        var fuzzer = try RequestFuzzer(seed: seed)
        let connection = FuzzConnection(port: port)
        for number in 0..<count {
            guard let request = fuzzer.next() else { return }
            func told(_ answer: String) {
                say("seed \(seed), request \(number): \(request.method) \(request.uri.prefix(300)) \(request.headers)")
                say(String(decoding: (request.body ?? []).prefix(2000), as: UTF8.self))
                say(answer)
            }
            do {
                let (status, body) = try await connection.ask(request)
                let isFault = status == 500 || status == 501 || body.count > 4 << 20
                if isFault { told("answered \(status): \(String(decoding: body.prefix(500), as: UTF8.self))") }
                outcome.update { $0.take(status, isFault: isFault) }
            } catch {
                told("\(error)")
                throw error
            }
        }
    }

    /// The results of all requests so far.
    private struct Outcome: Sendable {
        let count: Int
        var statuses: [Int: Int] = [:]
        var faults = 0
        /// Resident memory after a third of the requests, in bytes.
        var settled = 0
        private var answered = 0

        init(count: Int) { self.count = count }

        mutating func take(_ status: Int, isFault: Bool) {
            statuses[status, default: 0] += 1
            if isFault { faults += 1 }
            answered += 1
            if answered % 10_000 == 0 { say("\(answered) requests, \(ProcessMemory.resident >> 20) MiB") }
            if answered == count / 3 + 1 { settled = ProcessMemory.resident }
        }
    }

    /// The allowed growth in bytes. Rooms, their history and their deliveries are limited by number.
    private static let mostGrowth = 64 << 20
}
