import EventSubscription
import Foundation
import HTTPTypes
import LayoutEngine
import TaskStore
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Limits on the text of strangers that is quoted in answers, stored, and shown to others.
@Suite(.timeLimit(.minutes(5))) struct QuotedTextTests {
    private static func run(_ body: @escaping @Sendable (Bench) async throws -> Void) async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore(), body)
        }
    }

    private static let long = String(repeating: "k", count: 900_000)
    /// Text of 6 bytes per repetition.
    private static let accents = String(repeating: "e\u{301}\u{323}x", count: 100_000)
    private static let marks = "e" + String(repeating: "\u{301}", count: 400_000)

    @Test func errorsDoNotGiveAMegabyteBack() async throws {
        try await Self.run { bench in
            let (long, marks) = (Self.long, Self.marks)
            for (method, path, body) in [
                (HTTPRequest.Method.post, "/v1/rooms/a/events", #"{"type":"room.opened","\#(long)":1}"#),
                (.post, "/v1/rooms/a/events", #"{"type":"\#(long)"}"#),
                (.post, "/v1/rooms/a/events", #"{"type":"\#(marks)"}"#),
                (.post, "/v1/rooms/a/events", #"{"type":"\#(marks)://x"}"#),
                (.post, "/v1/rooms/a/events", #"{"type":"participant.joined","user":"\#(marks)"}"#),
                (.post, "/v1/rooms/a/events", #"{"type":"participant.joined","user":"a","data":{"\#(marks)":1}}"#),
                (.put, "/v1/rooms/a", #"{"outputs":[{"id":"a","url":"\#(long)"}]}"#),
                (.put, "/v1/rooms/a", #"{"layout":"\#(long)"}"#), (.put, "/v1/rooms/a", #"{"layout":{"\#(long)":1}}"#),
                (.put, "/v1/layouts/a", #"{"\#(long.prefix(200_000))":1,"arrangements":[]}"#),
                (.put, "/v1/layouts/a", "{" + (0..<8000).map { #""k\#($0)":1"# }.joined(separator: ",") + "}"),
                (.post, "/v1/subscriptions", #"{"url":"\#(long)"}"#),
                (.post, "/v1/subscriptions", #"{"url":"http://127.0.0.1/","events":["\#(long)"]}"#),
                (.post, "/v1/tasks", #"{"id":"\#(long)","room":"a"}"#),
                (.get, "/v1/rooms?limit=" + long.prefix(60_000), ""), (.get, "/v1/\(long.prefix(60_000))", ""),
                (.get, "/v1/rooms/\(long.prefix(60_000))", ""), (.get, "/v1/layouts/\(long.prefix(60_000))", ""),
                (.delete, "/v1/tasks/\(long.prefix(60_000))", ""), (.trace, "/v1/rooms/\(long.prefix(60_000))", ""),
                (.post, "/?AccessKeyId=\(long.prefix(60_000))&Signature=x", ""),
            ] {
                let answer = try await bench.call(method, path, body.isEmpty ? nil : body)
                let name: Comment = "\(method) \(path.prefix(40)) \(body.prefix(60).utf8.count)"
                #expect((400..<500).contains(answer.status), name)
                let most = path == "/v1/layouts/a" ? 100_000 : 6000
                #expect(answer.text.utf8.count < most, "\(answer.text.utf8.count) bytes for \(path.prefix(40))")
                #expect(answer.text.contains(String(repeating: "k", count: 600)) == false, name)
            }
        }
    }

    @Test func errorsOfTheWireInterfaceDoNotEither() async throws {
        try await WireRouteTests.run { caller in
            let long = String(repeating: "k", count: 50_000)
            for (action, parameters) in [
                ("StartLiveMPUTask", ["ChannelId": long, "TaskId": "t"]), (long, [:]),
                ("CreateEventSub", ["CallbackUrl": long, "Events.1": "UserEvent"]),
                ("CreateEventSub", ["CallbackUrl": "http://127.0.0.1/", "Events.\(long)": "UserEvent"]),
                ("ListRtcMPUTaskDetail", ["PageNo": long, "PageSize": "1"]), ("StopLiveMPUTask", ["TaskId": long]),
            ] {
                let answer = try await caller.call(action, parameters)
                #expect((400..<500).contains(answer.status))
                #expect(answer.text.utf8.count < 2000, "\(action.prefix(20)): \(answer.text.utf8.count)")
            }
        }
    }

    @Test func startupErrorsAreCut() {
        #expect(StartupError("found \(Self.long)").description.utf8.count <= 4096)
        #expect(StartupError("configuration: x").description == "configuration: x")
        #expect(JSONValue.string(Self.marks).summary.utf8.count <= 102)
        let key = InputError(.unknownField, field: Self.marks, found: Self.long, expected: "less")
        #expect(key.description.utf8.count < 1000 && key.field.utf8.count <= 256)
        #expect(!JSONValue.string("rtmp://u:\(Self.long)@h/live/key").summary.contains("kkk"))
    }

    @Test func namesAndReasonsAreCutAndNoEventIsLost() async throws {
        try await Self.run { bench in
            let name = String(repeating: "é", count: 127) + "😀😀"
            for event in [
                #"{"type":"participant.joined","user":"a","name":"\#(name)"}"#,
                #"{"type":"stream.unpublished","user":"a","reason":"\#(Self.accents)"}"#,
                #"{"type":"participant.left","user":"b","reason":"\#(Self.accents)"}"#,
            ] { #expect(try await bench.call(.post, "/v1/rooms/a/events", event).status == 202) }
            // 254 bytes, and the next scalar has four.
            let room = try await bench.call(.get, "/v1/rooms/a")
            #expect(try room.value("participants.0.name") == String(repeating: "é", count: 127), "\(room.text)")
            let snapshot =
                #"{"streams":[],"participants":[{"user":"c","name":"\#(Self.accents)"}]}"#
            #expect(try await bench.call(.put, "/v1/rooms/b/streams", snapshot).status == 202)
            let other = try await bench.call(.get, "/v1/rooms/b")
            #expect(try #require(try other.value("participants.0.name")).utf8.count == 255)
            let plan = #"{"participants":[{"user":"c","name":"\#(Self.accents.prefix(bytes: 100_000))"}]}"#
            #expect(try await bench.call(.post, "/v1/layouts/auto/plan", plan).status == 200)
            let events = try await bench.store.events(of: "a", limit: 10)
            for case .streamUnpublished(_, _, let reason?) in events.map(\.kind) { #expect(reason.utf8.count <= 256) }
            #expect(events.count == 3)
        }
    }

    /// Combining marks are put into canonical order whenever the text is compared or hashed, which takes minutes for a
    /// megabyte.
    @Test(arguments: ["\u{301}\u{323}", "\u{F73}", "\u{301}"])
    func moreMarksThanALetterHasAreRefused(_ mark: String) async throws {
        let marks = String(repeating: mark, count: 900_000 / mark.utf8.count)
        try await Self.run { bench in
            for body in [
                #"{"type":"room.opened","a\#(marks)":1}"#, #"{"type":"a\#(marks)"}"#,
                #"{"type":"participant.joined","user":"a","name":"a\#(marks)"}"#,
            ] {
                let answer = try await bench.call(.post, "/v1/rooms/a/events", body)
                #expect(answer.status == 400)
            }
            let few = #"{"\#(marks.prefix(bytes: 200_000))":1,"arrangements":[]}"#
            let answer = try await bench.call(.put, "/v1/layouts/a", few)
            #expect(answer.status == 422)
        }
        #expect(!("a" + marks.prefix(bytes: 60)).hasTooManyMarks)
        #expect(!String(repeating: "e\u{301}\u{323}", count: 1000).hasTooManyMarks)
    }

    /// Editors may write a byte order mark, which is not part of JSON, nor of the answer with the layout.
    @Test func aLayoutWithAByteOrderMarkIsGivenBackAsJSON() async throws {
        try await Self.run { bench in
            let template = "\u{FEFF}" + #"{"arrangements":[{"algorithm":"grid"}]}"#
            let made = try await bench.call(.put, "/v1/layouts/marked", template)
            #expect(made.status == 201, "\(made.text)")
            for answer in [
                made, try await bench.call(.get, "/v1/layouts/marked"),
                try await bench.call(.get, "/v1/layouts/marked/versions/1"),
            ] {
                #expect(try JSONValue(parsing: answer.text.utf8) != .null)
                #expect(try answer.value("template.arrangements.0.algorithm") == "grid")
                #expect(!answer.text.unicodeScalars.contains("\u{FEFF}"))
            }
        }
    }
}
