import ChildProcesses
import Foundation
import HTTPTypes
import Hummingbird
import TestSupport
import Testing

@testable import MixOrchestrator

/// The bandwidth of uploads.
extension UploadFlowTests {
    /// Limits the bandwidth of both storages together, measured over every span of the uploads.
    @Test func theBandwidthIsKept() async throws {
        try await withDirectory { directory in
            let storage = try S3Storage(directory)
            try await storage.start()
            for (number, bytes) in [700_000, 900_000].enumerated() {
                _ = try Self.record(directory, bytes: bytes, name: "2026010\(number + 1)T000000Z-a")
            }
            let rate = 1_000_000.0
            let settings = Self.settings(
                storage,
                Self.backup.merging([
                    "upload.backup.endpoint": [storage.endpoint], "upload.bytesPerSecond": ["\(Int(rate))"],
                ]) { $1 })
            try await withOrchestrator(directory: directory, settings: settings) { bench in
                // The bytes that were sent by a moment between the two times.
                var samples: [(from: ContinuousClock.Instant, to: ContinuousClock.Instant, bytes: Double)] = []
                try await eventually("not all is sent") {
                    try await Task.sleep(for: .milliseconds(100))
                    let start = ContinuousClock.now
                    let text = try await bench.call(.get, "/metrics").text
                    let end = ContinuousClock.now
                    let sent = text.matches(of: /upload_sent_bytes_total\{target="\w+"\} (\d+)/)
                    samples.append((start, end, sent.reduce(0) { $0 + (Double($1.1) ?? 0) }))
                    return samples.last.map { $0.bytes >= 3_200_000 } == true ? true : nil
                }
                // The limit allows a burst of a quarter of a second. Each of the four uploads may have waited for a
                // chunk that it counts later.
                let burst = rate / 4 + 4 * 65_536
                var fastest = 0.0
                for (index, first) in samples.enumerated() {
                    for last in samples[(index + 1)...] {
                        let seconds = (last.to - first.from) / .seconds(1)
                        #expect(last.bytes - first.bytes <= rate * seconds + burst, "\(first) to \(last)")
                        if seconds >= 1 { fastest = max(fastest, (last.bytes - first.bytes) / seconds) }
                    }
                }
                let seconds = samples.last.map { $0.to - (samples.first { $0.bytes > 0 } ?? $0).from } ?? .zero
                print(
                    "3,200,000 bytes in \(seconds) s, \(fastest) bytes/s in the fastest second and more; limit \(rate)")
                for target in 0...1 { try await Self.wait(bench, "recordings.0.storage.\(target).state", "stored") }
            }
        }
    }
}
