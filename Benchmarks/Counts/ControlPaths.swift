import EventSubscription
import Foundation
import LayoutEngine
import MixModel

/// The paths that every event and every change of a room takes.
enum ControlPaths {
    static func all() throws -> [CountedPath] {
        let directory = URL(filePath: #filePath).appending(path: "../../../layouts").standardizedFileURL
        let file = try Data(contentsOf: directory.appending(path: "host-and-strip.json"))
        let template = try LayoutTemplate.decode(file, name: "host-and-strip")
        let parser = EventParser(allowList: try AllowList([]))
        return [
            CountedPath(name: "layout-16", unit: "plan", about: "the scene of 16 people in host-and-strip") { count in
                (0..<count).reduce(0) { sum, _ in
                    sum + LayoutEngine.plan(template, participants: people, canvas: .portrait).panes.count
                }
            },
            CountedPath(name: "event", unit: "event", about: "a CloudEvent from its JSON text") { count in
                var events = 0
                for _ in 0..<count { events += try parser.cloudEvents(try JSONValue(parsing: event)).count }
                return events
            },
        ]
    }

    private static let people = (0..<16).map { index in
        LayoutParticipant(
            source: "user\(index)/camera", user: "user\(index)", name: "Person Number \(index)",
            role: index < 2 ? .host : .guest, kind: .camera, joinOrder: index, hasVideo: true,
            pictureSize: .init(width: 720, height: 1280))
    }

    private static let event = Array(
        """
        {"specversion": "1.0", "id": "e-4711", "source": "app/rooms", "type": "stream.published", \
        "time": "2026-01-01T12:00:00.125Z", "subject": "show", \
        "data": {"user": "alice", "role": "host", "url": "rtmp://127.0.0.1:1935/live/alice"}}
        """.utf8)
}
