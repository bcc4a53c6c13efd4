import Foundation
import TestSupport
import Testing

/// A process that has used up its descriptors keeps running, and does not spin.
struct ExhaustionTests {
    @Test(.timeLimit(.minutes(12))) func theServiceOutlivesTheEndOfItsDescriptors() async throws {
        let most = 160
        try await ControlStage.run(descriptors: most) { stage in
            let descriptors = "/proc/\(stage.service.identifier)/fd"
            var strangers: [PlainClient] = []
            // More connections than the process can accept; the kernel queues the others.
            for _ in 0..<most + 60 { strangers.append(try PlainClient(port: stage.client.port)) }
            // An eighth is kept in reserve, because the runtime ends a process that has no descriptor left.
            try await waitUntil("hardly a descriptor is left") {
                guard stage.service.isRunning else { return true }
                return (try? FileManager.default.contentsOfDirectory(atPath: descriptors).count) ?? 0 >= most * 7 / 8
                    - 4
            }
            try #require(stage.service.isRunning, "it has ended: \(stage.service.messages(last: 10))")
            let before = try Self.cpuSeconds(of: stage.service.identifier)
            let begin = ContinuousClock.now
            try await Task.sleep(for: .seconds(2))
            let used = try Self.cpuSeconds(of: stage.service.identifier) - before
            let cores = used / ((ContinuousClock.now - begin) / .seconds(1))
            print("without descriptors: \(cores) cores")
            // A loop that spins uses all the time that it gets, which is most of a core on an idle machine.
            #expect(cores < 0.3)
            #expect(stage.service.isRunning, "\(stage.service.messages(last: 10))")
            strangers = []
            try await waitUntil("it answers again") {
                (try? await stage.client.request("GET", "/healthz").status) == 200
            }
            // The process can also start processes again.
            try await stage.makeRoom("after")
            try await stage.client.published("after", user: "alice", url: "\(ControlStage.nowhere)/live/alice")
            try await stage.settled("auto-after")
        }
    }

    private static func cpuSeconds(of process: Int32) throws -> Double {
        let stat = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        let words = stat.split(separator: ")").last?.split(separator: " ") ?? []
        // The times are the 14th and 15th fields, proc(5); the second field ends with the bracket.
        guard words.count > 12, let user = Double(words[11]), let system = Double(words[12]) else {
            throw EndToEndError("not understood: \(stat)")
        }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}
