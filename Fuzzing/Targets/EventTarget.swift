import EventSubscription
import MixModel

/// Bodies of events and snapshots. The first byte says which.
enum EventTarget: FuzzTarget {
    static let name = "events"

    static var seeds: [[UInt8]] {
        let data = #"{"user":"alice","role":"host","stream":"camera","url":"rtmp://127.0.0.1/live/a","seq":3}"#
        let event =
            #"{"specversion":"1.0","id":"1","source":"app","type":"stream.published","subject":"lobby","#
            + #""time":"2026-01-01T00:00:00Z","data":\#(data)}"#
        let short = #"{"type":"stream.published","user":"alice","url":"rtmp://127.0.0.1/live/a"}"#
        let snapshot =
            #"{"participants":[{"user":"a","role":"host","streams":[{"stream":"camera","url":"rtmp://127.0.0.1/l/a"}]}]}"#
        return [event, "[\(event),\(event)]", short, snapshot].enumerated().map { [UInt8($0)] + Array($1.utf8) }
    }

    static func run(_ bytes: [UInt8]) {
        guard let kind = bytes.first, let document = try? JSONValue(parsing: bytes.dropFirst()) else { return }
        let parser = EventParser(allowList: .loopbackOnly, urlTemplate: "rtmp://127.0.0.1/{app}/{room}/{user}")
        do throws(InputError) {
            switch kind % 4 {
            case 0: check(try parser.cloudEvents(document))
            case 1: check(try parser.batch(document))
            case 2: check([try parser.shortForm(document, room: "lobby", id: "1")])
            default: check([try parser.snapshot(document, room: "lobby", id: "1")])
            }
        } catch {
            require(!"\(error)".isEmpty && "\(error)".utf8.count < 8192, "error of \("\(error)".utf8.count) bytes")
        }
    }

    private static func check(_ events: [RoomEvent]) {
        for event in events {
            require(event.room.rawValue.utf8.count <= 128, "room \(event.room)")
        }
    }
}
