import CoreMetrics
import Foundation
import Testing

@testable import MixOrchestrator
@testable import RoomService

@Suite(.timeLimit(.minutes(2))) struct MetricsTests {
    @Test func countersGaugesAndHistogramsAreWrittenAsPrometheusReadsThem() {
        let registry = PrometheusRegistry()
        registry.describe("jobs_total", help: "Jobs,\nby \\ result.", kind: .counter, labels: ["result"])
        registry.describe("wait_seconds", help: "Wait.", kind: .histogram([0.1, 1]), labels: [])
        registry.describe("width", help: "Width.", kind: .gauge, labels: ["side"])
        Counter(label: "jobs_total", dimensions: [("result", "a\"b\\c\nd")], factory: registry).increment(by: 2)
        let timer = Timer(label: "wait_seconds", factory: registry)
        for milliseconds in [50, 100, 700, 5000] { timer.recordMilliseconds(milliseconds) }
        registry.replace("width", [(["left"], 0.5), (["right"], 3)])
        #expect(
            registry.text() == #"""
                # HELP jobs_total Jobs,\nby \\ result.
                # TYPE jobs_total counter
                jobs_total{result="a\"b\\c\nd"} 2
                # HELP wait_seconds Wait.
                # TYPE wait_seconds histogram
                wait_seconds_bucket{le="0.1"} 2
                wait_seconds_bucket{le="1"} 3
                wait_seconds_bucket{le="+Inf"} 4
                wait_seconds_sum 5.85
                wait_seconds_count 4
                # HELP width Width.
                # TYPE width gauge
                width{side="left"} 0.5
                width{side="right"} 3

                """#)
    }

    /// A quotation mark with a combining mark is another character, and so is a line feed after a carriage return.
    @Test func labelsAreEscapedScalarByScalar() {
        let text = PrometheusText.sample("x", [("l", "a\"\u{301}b\\\u{301}c\r\nd")], 1)
        let expected = "x{l=\"a\\\"\u{301}b\\\\\u{301}c\r\\nd\"} 1\n"
        #expect(text.utf8.elementsEqual(expected.utf8), "\(text)")
    }

    @Test func metricsOfLibrariesGetNamesThatAreAllowed() {
        let registry = PrometheusRegistry()
        Meter(label: "http.server.active-requests", dimensions: [("http.method", "GET")], factory: registry).set(3)
        #expect(registry.text().contains("\nhttp_server_active_requests{http_method=\"GET\"} 3\n"))
        // Another kind of metric of the same name is ignored, and does not change the first.
        Counter(label: "http.server.active-requests", factory: registry).increment()
        #expect(registry.text().contains("# TYPE http_server_active_requests gauge\n"))
        #expect(!registry.text().contains("counter"))
    }

    @Test func aLabelWithoutEndDoesNotFillTheMemory() {
        let registry = PrometheusRegistry()
        for index in 0..<2000 {
            Counter(label: "odd_total", dimensions: [("name", "n\(index)")], factory: registry).increment()
        }
        let lines = registry.text().split(separator: "\n").filter { $0.hasPrefix("odd_total{") }
        #expect(lines.count == MetricFamily.mostSamples + 1)
        #expect(lines.contains("odd_total{name=\"other\"} \(2000 - MetricFamily.mostSamples)"))
    }

    @Test func everyMetricIsExplained() throws {
        let text = Metrics().registry.text()
        for name in Metrics.Counter.allCases.map(\.rawValue) + Metrics.Timer.allCases.map(\.rawValue)
            + Metrics.Size.allCases.map(\.rawValue) + Metrics.Gauge.allCases.map(\.rawValue)
        {
            #expect(text.contains("# TYPE \(name) "), "\(name)")
        }
        let page = try String(
            contentsOf: OpenAPIDocument.root.appendingPathComponent("docs/metrics.md"), encoding: .utf8)
        for line in text.split(separator: "\n") where line.hasPrefix("# TYPE ") {
            let name = line.split(separator: " ")[2]
            #expect(page.contains("`\(name)`") || page.contains("`\(name){"), "docs/metrics.md misses \(name)")
        }
    }

    @Test func countingFromManyTasksLosesNothing() async {
        let metrics = Metrics()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for index in 0..<2000 {
                        metrics.count(.events, index.isMultiple(of: 2) ? "accepted" : "stale")
                        metrics.observe(.eventDurable, nanoseconds: 1_000_000)
                    }
                }
            }
        }
        let text = metrics.registry.text()
        #expect(text.contains("\nevents_total{outcome=\"accepted\"} 8000\n"))
        #expect(text.contains("\nevent_durable_seconds_count 16000\n"))
    }

    private static let firstSwitch = "switches_total{from=\"nothing\",to=\"bypass\"} 1"

    @Test func theServiceTellsWhatItHas() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                try await bench.publish("alice")
                try await bench.plan { $0.mode == .bypass("alice/camera") }
                let text = try await eventually {
                    let answer = try await bench.call(.get, "/metrics")
                    #expect(answer.headers[.contentType] == "text/plain; version=0.0.4; charset=utf-8")
                    // A relay reports its status first, and then the switch.
                    let isThere = [
                        "programs_on_air{kind=\"bypass\"} 1", "tasks{state=\"running\"} 1", Self.firstSwitch, "ready 1",
                        "outputs{state=\"live\"} 1", "sources{state=\"live\"} 1", "event_relay_told_seconds_count 1",
                    ]
                    .allSatisfy { answer.text.contains("\n\($0)\n") }
                    return isThere ? answer.text : nil
                }
                for line in [
                    "rooms 1", "events_total{outcome=\"accepted\"} 1", "layouts 1", "layouts_broken 0",
                    "event_durable_seconds_count 1", "event_relay_told_seconds_count 1", "relay_starts_total 1",
                    "relays_connected 1", "outputs{state=\"live\"} 1", "sources{state=\"live\"} 1", "ready 1",
                    Self.firstSwitch, "switch_latency_seconds_count{to=\"bypass\"} 1",
                    "admission_refusals_total 0", "tasks_waiting 0",
                    "degraded_tasks{level=\"1\"} 0",
                    "http_requests_total{method=\"POST\",route=\"/v1/rooms/{room}/events\",status=\"2xx\"} 1",
                ] {
                    #expect(text.contains("\n\(line)\n"), "\(line)")
                }
                #expect(!text.contains("\ncpu_cores_available "), "there is no limit in tests")
                for name in ["process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds"] {
                    let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(name + " ") })
                    #expect(Double(line.split(separator: " ")[1]) ?? 0 > 0)
                }
                // Unknown paths do not become labels.
                _ = try await bench.call(.get, "/v1/secret/path")
                let after = try await bench.call(.get, "/metrics").text
                #expect(after.contains("route=\"none\",status=\"4xx\"} 1\n"))
                #expect(!after.contains("secret") && !after.contains("alice") && !after.contains("demo"))
            }
        }
    }
}
