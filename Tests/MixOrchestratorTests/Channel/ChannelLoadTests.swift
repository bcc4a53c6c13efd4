import Foundation
import TaskStore
import TestSupport
import Testing

@testable import MixOrchestrator

/// Many followers of one room, counted and timed by a client in a process of its own (scripts/channel-load.py).
@Suite(.timeLimit(.minutes(10))) struct ChannelLoadTests {
    private static let settings = [
        "channel.maxViewersPerAddress": ["20000"], "channel.maxViewers": ["20000"],
        "channel.maxViewersPerRoom": ["20000"],
        "channel.roomRate": ["10000"], "channel.roomBurst": ["10000"], "channel.userRate": ["1000"],
        "channel.userBurst": ["10000"], "http.maxConnections": ["30000"], "http.rate.requests": ["0"],
    ]

    @Test func everyDeliveryArrivesAtEveryFollower() async throws {
        let viewers = TestLength.of(short: 300, long: 9000)
        try await withDirectory { directory in
            try await withOrchestrator(
                .live, directory: directory, store: MemoryTaskStore(), settings: Self.settings
            ) { bench in
                let port = try #require(bench.client.port)
                let script = OpenAPIDocument.root.appendingPathComponent("scripts/channel-load.py").path
                let report = try await outputOfShell(
                    "python3 '\(script)' --port \(port) --viewers \(viewers) --seconds \(TestLength.of(short: 3, long: 30))"
                )
                print(report)
                #expect(report.contains("lost 0, missing 0"), "\(report)")
                #expect(
                    try await bench.call(.get, "/metrics").text.contains("\nchannel_viewers_dropped_total 0\n"))
            }
        }
    }
}
