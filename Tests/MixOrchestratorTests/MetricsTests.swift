import Testing

@testable import MixOrchestrator

@Suite struct MetricsTests {
    @Test func countersAndGaugesAreWrittenAsPrometheusReadsThem() {
        let metrics = Metrics()
        metrics.count(.events, "accepted")
        metrics.count(.events, "accepted")
        metrics.count(.layoutReloads, "a\"b\\c\nd", "rejected")
        let text = metrics.text([
            Metrics.Gauge("layouts_broken", "Broken.", 3),
            Metrics.Gauge("tasks", "Tasks.", by: "state", ["running": 2, "failed": 0]),
        ])
        #expect(
            text == """
                # HELP events_total Events of rooms by what they did.
                # TYPE events_total counter
                events_total{outcome="accepted"} 2
                # HELP image_fetches_total Images of layouts that were fetched or read, by what came of it.
                # TYPE image_fetches_total counter
                # HELP layout_reloads_total Layouts that were saved, by what came of it.
                # TYPE layout_reloads_total counter
                layout_reloads_total{layout="a\\"b\\\\c\\nd",result="rejected"} 1
                # HELP layouts_broken Broken.
                # TYPE layouts_broken gauge
                layouts_broken 3
                # HELP tasks Tasks.
                # TYPE tasks gauge
                tasks{state="failed"} 0
                tasks{state="running"} 2

                """)
    }

    @Test func theServiceTellsWhatItHas() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                try await bench.publish("alice")
                try await bench.plan { $0.mode == .bypass("alice/camera") }
                let text = try await eventually {
                    let answer = try await bench.call(.get, "/metrics")
                    #expect(answer.headers[.contentType] == "text/plain; version=0.0.4; charset=utf-8")
                    return answer.text.contains("tasks{state=\"running\"} 1\n") ? answer.text : nil
                }
                for line in ["rooms 1", "events_total{outcome=\"accepted\"} 1", "layouts 1", "layouts_broken 0"] {
                    #expect(text.contains("\n\(line)\n"), "\(line)")
                }
            }
        }
    }
}
