import Foundation
import Logging
import Testing

@testable import MixOrchestrator

/// Shutdowns by signals. Each runs in its own process.
@Suite(.timeLimit(.minutes(2))) struct ShutdownSignalsTests {
    /// Keeps every thread of the cooperative pool busy, as requests that never end would.
    private static func fillThePool() {
        for _ in 0..<(2 * ProcessInfo.processInfo.activeProcessorCount + 2) {
            // Ends with the process.
            Task.detached { while true {} }
        }
    }

    /// Ends the process with a distinct code if nothing else does.
    private static func giveUp(after seconds: UInt32) {
        Thread {
            sleep(seconds)
            _exit(77)
        }.start()
    }

    private static func signals(within limit: Duration) -> ShutdownSignals {
        ShutdownSignals(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, limit: limit)
    }

    @Test func aBusyPoolDoesNotHoldUpTheWatchdog() async {
        await #expect(processExitsWith: .exitCode(1)) {
            Self.giveUp(after: 60)
            try await Self.signals(within: .milliseconds(300)).watch {
                Self.fillThePool()
                Thread {
                    usleep(200_000)
                    kill(getpid(), SIGTERM)
                }.start()
                try await Task.sleep(for: .seconds(3600))
            } onFirst: {
            }
        }
    }

    @Test func aBusyPoolDoesNotHoldUpTheSecondSignal() async {
        await #expect(processExitsWith: .exitCode(128 + SIGINT)) {
            Self.giveUp(after: 60)
            try await Self.signals(within: .seconds(3600)).watch {
                Self.fillThePool()
                Thread {
                    usleep(200_000)
                    kill(getpid(), SIGTERM)
                    // Two pending signals are not delivered in the order in which they were sent.
                    usleep(500_000)
                    kill(getpid(), SIGINT)
                }.start()
                try await Task.sleep(for: .seconds(3600))
            } onFirst: {
            }
        }
    }

    @Test func anOrderlyShutdownGoesOnToItsEnd() async {
        await #expect(processExitsWith: .exitCode(5)) {
            Self.giveUp(after: 60)
            let (first, reporter) = AsyncStream.makeStream(of: Void.self)
            try await Self.signals(within: .seconds(3600)).watch {
                kill(getpid(), SIGTERM)
                for await _ in first {}
            } onFirst: {
                reporter.finish()
            }
            _exit(5)
        }
    }

    @Test func aServiceThatEndsByItselfNeedsNoSignal() async {
        await #expect(processExitsWith: .exitCode(6)) {
            Self.giveUp(after: 60)
            try await Self.signals(within: .seconds(3600)).watch {
            } onFirst: {
                _exit(7)
            }
            _exit(6)
        }
    }
}
