import Foundation
import HTTPTypes
import Hummingbird
import MixModel
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Scheduled tasks over HTTP, with scripted relays.
@Suite(.timeLimit(.minutes(5))) struct TaskScheduleRouteTests {
    private static func time(_ seconds: Double) -> String {
        Date(timeIntervalSinceNow: seconds).formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    private static func task(_ id: String, _ startsAt: String?, _ endsAt: String?) -> String {
        let times = [("startsAt", startsAt), ("endsAt", endsAt)].compactMap { key, time in
            time.map { #","\#(key)":"\#($0)""# }
        }
        let output = #"{"id":"main","url":"rtmp://127.0.0.1/\#(id)/key"}"#
        return #"{"id":"\#(id)","room":"demo","outputs":[\#(output)]\#(times.joined())}"#
    }

    @Test func itIsOnAirBetweenItsTimes() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                let begin = Date()
                let made = try await bench.call(.post, "/v1/tasks", Self.task("show", Self.time(2), Self.time(5)))
                #expect(made.status == 201, "\(made.text)")
                // The answer may come after the start if the machine stalls.
                if -begin.timeIntervalSinceNow < 2 { #expect(try made.value("waitingFor") == "schedule") }
                #expect(try made.value("settings.startsAt")?.hasSuffix("Z") == true)
                // The relay may have ended before the test looks at it.
                let relay = try await eventually {
                    bench.relays.started.last { $0.task == "show" && $0.plan != nil }
                }
                #expect(-begin.timeIntervalSinceNow >= 2 && relay.plan?.mode == .slate)
                try await eventually { relay.exitDescription() != nil ? true : nil }
                #expect(-begin.timeIntervalSinceNow >= 5)
                try await eventually {
                    try await bench.call(.get, "/v1/tasks/show").value("endReason") == "scheduled" ? true : nil
                }
            }
        }
    }

    /// Schedules also apply if the service is not running at the start time.
    @Test func theTimesOutlastTheService() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                let made = try await bench.call(.post, "/v1/tasks", Self.task("show", Self.time(2), Self.time(600)))
                #expect(made.status == 201, "\(made.text)")
            }
            try await Task.sleep(for: .seconds(2))
            try await withOrchestrator(directory: directory) { bench in
                let relay = try await TaskRouteTests.relay(bench, of: "show")
                #expect(relay.plan?.mode == .slate)
                // The changed end time has already passed.
                let tag = try await bench.call(.get, "/v1/tasks/show").headers[.eTag]
                let changed = try await bench.call(
                    .patch, "/v1/tasks/show", #"{"startsAt":null,"endsAt":"\#(Self.time(-0.1))"}"#,
                    headers: TaskRouteTests.ifMatch(tag))
                #expect(changed.status == 200, "\(changed.text)")
                try await eventually { relay.exitDescription() != nil ? true : nil }
            }
        }
    }

    @Test func badTimesAreRefused() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                for (start, end) in [
                    ("tomorrow", nil), ("2026-01-31", nil), (Self.time(20), Self.time(10)),
                    (Self.time(10), "2026-13-01T00:00:00Z"),
                ] as [(String, String?)] {
                    let answer = try await bench.call(.post, "/v1/tasks", Self.task("show", start, end))
                    #expect(answer.status == 422, "\(answer.text)")
                }
                let room = try await bench.call(.put, "/v1/rooms/demo", #"{"startsAt":"\#(Self.time(10))"}"#)
                #expect(room.status == 422 && room.text.contains("POST /v1/tasks"), "\(room.text)")
            }
        }
    }
}
