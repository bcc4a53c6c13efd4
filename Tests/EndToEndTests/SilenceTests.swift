import EncodedMedia
import Foundation
import TestSupport
import Testing

@testable import MixModel

/// A relay with a deadline for sending, without media.
@Suite struct SilenceTests {
    /// Starts a relay and connects to it.
    private func withRelay(_ body: (ManagedProcess, _ tell: (RelayCommand) throws -> Void) async throws -> Void)
        async throws
    {
        let directory = try Workspace.makeDirectory()
        defer { try? FileManager.default.removeItem(at: directory) }
        let socket = directory.appendingPathComponent("t.sock").path
        let process = try ManagedProcess(
            "relay", Workspace.executable("mixworker"),
            ["relay", "--task", "t", "--socket", socket, "--no-ready-mixer"],
            in: directory)
        let descriptor = Foundation.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        try await waitUntil("the relay listens\n\(process.messages())", every: 10) {
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(socket.utf8) + [0]) }
            return withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
                }
            }
        }
        try await body(process) { command in
            let line = Array(try command.document().utf8) + [0x0A]
            #expect(write(descriptor, line, line.count) == line.count)
        }
        process.kill9()
    }

    private func inSeconds(_ seconds: Double) -> Int64 { BootClock.now() + Int64(seconds * 1e9) }

    @Test(.timeLimit(.minutes(4))) func aRelayEndsByItselfWhenItMaySendNoLonger() async throws {
        try await withRelay { process, tell in
            try tell(.hello(version: RelayCommand.version))
            try tell(.hold(until: inSeconds(4)))
            // The deadline is extended twice, as by a service that renews its lease.
            var until: Int64 = 0
            for _ in 0..<2 {
                try await Task.sleep(for: .milliseconds(500))
                #expect(process.isRunning)
                until = inSeconds(4)
                try tell(.hold(until: until))
            }
            try await waitUntil("the relay has ended", every: 5) { !process.isRunning }
            #expect(process.exitStatus == 75, "\(process.messages())")
            #expect(BootClock.now() > until - 300_000_000, "it was put off")
            #expect(process.messages().contains("sends nothing more"))
        }
    }

    /// A relay that was stopped beyond the deadline ends before it does anything else.
    @Test(.timeLimit(.minutes(4))) func aRelayThatStoodStillEndsAtOnce() async throws {
        try await withRelay { process, tell in
            try tell(.hello(version: RelayCommand.version))
            let until = inSeconds(4)
            try tell(.hold(until: until))
            // Even a busy relay has read the deadline by then.
            try await Task.sleep(for: .milliseconds(1500))
            kill(process.identifier, SIGSTOP)
            let threads = "/proc/\(process.identifier)/task"
            try await waitUntil("all threads stand still", every: 5) {
                try FileManager.default.contentsOfDirectory(atPath: threads).allSatisfy { thread in
                    (try? String(contentsOfFile: "\(threads)/\(thread)/stat", encoding: .utf8))?.contains(") T ")
                        ?? true
                }
            }
            // If the relay had read this before, it would be allowed to continue.
            try tell(.hold(until: inSeconds(60)))
            try await Task.sleep(for: .nanoseconds(max(0, until - BootClock.now()) + 700_000_000))
            kill(process.identifier, SIGCONT)
            try await waitUntil("the relay has ended", every: 5) { !process.isRunning }
            #expect(process.exitStatus == 75, "\(process.messages())")
        }
    }

    /// A single service sets no deadline.
    @Test func withoutALimitARelayGoesOn() async throws {
        try await withRelay { process, tell in
            try tell(.hello(version: RelayCommand.version))
            try await Task.sleep(for: .seconds(1))
            #expect(process.isRunning)
        }
    }
}
