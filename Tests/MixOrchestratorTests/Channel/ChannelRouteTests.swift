import Foundation
import HTTPTypes
import MixModel
import TaskStore
import TestSupport
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator
@testable import RoomService

/// The channel of a room over real connections.
@Suite(.timeLimit(.minutes(5))) struct ChannelRouteTests {
    private static let room = "/v1/rooms/demo"

    private func withService(
        _ settings: [String: [String]] = [:], _ body: @escaping @Sendable (Bench) async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            try await withOrchestrator(.live, directory: directory, store: MemoryTaskStore(), settings: settings) {
                bench in
                #expect(try await bench.call(.put, Self.room, "{}").status == 201)
                try await body(bench)
            }
        }
    }

    private static func follow(
        _ bench: Bench, _ path: String = "\(room)/channel", _ headers: String = ""
    ) async throws -> RawConnection {
        let connection = try await RawConnection.open(try #require(bench.client.port))
        connection.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\(headers)\r\n")
        try await eventually { connection.text.contains("\r\n\r\n") ? true : nil }
        return connection
    }

    private static func say(_ text: String, _ bench: Bench, as user: String = "alice") async throws -> Answer {
        try await bench.call(.post, "\(room)/messages", #"{"text":"\#(text)","user":"\#(user)"}"#)
    }

    @Test func everybodyGetsWhatIsSent() async throws {
        try await withService { bench in
            let followers = try await (0..<5).asyncMap { _ in try await Self.follow(bench) }
            let sent = try await bench.call(
                .post, "\(Self.room)/messages",
                #"{"kind":"gift","gift":{"id":"rose","price":3},"count":2,"user":"alice","name":"Älice <b>"}"#)
            #expect(sent.status == 201, "\(sent.text)")
            let id = try #require(try sent.value("id"))
            for follower in followers {
                try await eventually { follower.text.contains("id: \(id)\nevent: gift\n") ? true : nil }
                #expect(follower.text.hasPrefix("HTTP/1.1 200 OK\r\n"))
                #expect(follower.text.lowercased().contains("content-type: text/event-stream\r\n"))
                #expect(follower.text.contains("retry: 2000\nevent: state\n"))
                #expect(follower.text.contains(#""gift":{"id":"rose","price":3}"#))
                #expect(follower.text.contains(#""name":"Älice <b>""#))
            }
            try await eventually { followers[0].text.contains(#"{"count":5,"channel":5,"playback":0}"#) ? true : nil }
            let metrics = try await bench.call(.get, "/metrics").text
            #expect(metrics.contains("\nchannel_viewers 5\n") && metrics.contains("\nchannels 1\n"))
            #expect(metrics.contains("\nchannel_messages_total{kind=\"gift\"} 1\n"))
            // The service notices the closed connections at once, without waiting for a heartbeat to fail.
            let closed = ContinuousClock.now
            for follower in followers.dropFirst() { follower.close() }
            try await eventually {
                try await bench.call(.get, "/metrics").text.contains("\nchannel_viewers 1\n") ? true : nil
            }
            #expect(closed.duration(to: .now) < .seconds(10))
        }
    }

    @Test func aStreamIsResumedWhereItEnded() async throws {
        try await withService { bench in
            let ids = try await ["one", "two", "three"].asyncMap { text in
                try #require(try await Self.say(text, bench).value("id"))
            }
            let all = try await Self.follow(bench)
            try await eventually { all.text.contains(#""text":"three""#) ? true : nil }
            #expect(all.text.contains(#""text":"one""#))
            let rest = try await Self.follow(
                bench, "\(Self.room)/channel?after=\(ids[0])", "Last-Event-ID: \(ids[1])\r\n")
            try await eventually { rest.text.contains(#""text":"three""#) ? true : nil }
            #expect(!rest.text.contains(#""text":"two""#) && rest.text.contains(#""isIncomplete":false"#))

            let list = try await bench.call(.get, "\(Self.room)/messages?after=\(ids[0])")
            #expect(try list.value("messages.0.text") == "two")
            #expect(try list.value("messages.2") == nil)
            #expect(try await bench.call(.delete, "\(Self.room)/messages/\(ids[1])").status == 204)
            try await eventually { rest.text.contains("event: deleted\ndata: {\"id\":\(ids[1])}") ? true : nil }
            #expect(try await bench.call(.delete, "\(Self.room)/messages/\(ids[1])").status == 404)
            // A follower that was away may still show the deleted message and is told; a new follower has never had it.
            let back = try await Self.follow(bench, "\(Self.room)/channel", "Last-Event-ID: \(ids[2])\r\n")
            try await eventually { back.text.contains("event: deleted\ndata: {\"id\":\(ids[1])}") ? true : nil }
            for path in ["\(Self.room)/channel", "\(Self.room)/channel?after=\(ids[0])"] {
                let other = try await Self.follow(bench, path)
                try await eventually { other.text.contains(#""text":"three""#) ? true : nil }
                #expect(!other.text.contains("event: deleted"))
            }
            #expect(try await bench.call(.delete, "\(Self.room)/messages/x").status == 404)
        }
    }

    @Test func aShortHistorySaysWhatIsMissing() async throws {
        try await withService(["channel.history": ["2"]]) { bench in
            let first = try #require(try await Self.say("one", bench).value("id"))
            for text in ["two", "three", "four"] { _ = try await Self.say(text, bench) }
            let follower = try await Self.follow(bench, "\(Self.room)/channel?after=\(first)")
            try await eventually { follower.text.contains(#""text":"four""#) ? true : nil }
            #expect(follower.text.contains(#""isIncomplete":true"#) && !follower.text.contains(#""text":"two""#))
        }
    }

    @Test func followersAreToldOfTheProgram() async throws {
        try await withService { bench in
            let follower = try await Self.follow(bench)
            func told(_ event: String) async throws {
                try await eventually("\(event) in \(follower.text)") { follower.text.contains(event) ? true : nil }
            }
            try await bench.publish("alice")
            try await told("event: opened\n")
            // The scripted relay does not report whose stream it passes through.
            try await told(#"event: onAir\#ndata: {"mode":"bypass","people":[]}"#)
            try await bench.publish("bob")
            try await told(#"{"mode":"mix","people":["alice","bob"]}"#)
            try await bench.unpublish("bob")
            try await bench.unpublish("alice")
            try await told("event: ended\n")
            #expect(try await bench.call(.delete, Self.room).status == 204)
            // The stream ends properly, with the last chunk of its body.
            try await eventually { follower.text.hasSuffix("\r\n0\r\n\r\n") ? true : nil }
            #expect(try await Self.say("x", bench).status == 404)
            try await eventually {
                try await bench.call(.get, "/metrics").text.contains("\nchannel_viewers 0\n") ? true : nil
            }
        }
    }

    @Test func theRulesOfARoomHold() async throws {
        try await withService(["channel.userBurst": ["2"], "channel.userRate": ["0.01"]]) { bench in
            let rules = try await bench.call(.patch, "\(Self.room)/rules", #"{"words":["darn"],"slowMode":0}"#)
            #expect(try rules.value("words.0") == "darn")
            func refusal(_ body: String) async throws -> String {
                let answer = try await bench.call(.post, "\(Self.room)/messages", body)
                return "\(answer.status) \(try answer.value("type")?.components(separatedBy: ":").last ?? answer.text)"
            }
            #expect(try await refusal(#"{"text":"d\u200barn it","user":"a"}"#) == "403 channel-forbidden-word")
            #expect(try await refusal(#"{"text":"\#(String(repeating: "x", count: 501))"}"#) == "422 channel-too-long")
            #expect(try await refusal(#"{"text":" "}"#) == "422 channel-empty")
            #expect(try await refusal(#"{"kind":"gift","gift":{"a":[]}}"#) == "422 invalid-field")
            #expect(try await refusal(#"{"kind":"wave"}"#) == "422 invalid-field")
            #expect(try await refusal(#"{"txt":"x"}"#) == "422 unknown-field")
            #expect(try await refusal("{") == "400 malformed-json")
            #expect(try await refusal(String(repeating: " ", count: 20_000)) == "413 body-too-large")
            #expect(try await bench.call(.put, "\(Self.room)/muted/mallory", #"{"seconds":60}"#).status == 204)
            #expect(try await refusal(#"{"kind":"like","user":"mallory"}"#) == "403 channel-muted")
            #expect(
                try await bench.call(.get, "\(Self.room)/rules").value("muted.0.user") == "mallory")
            #expect(try await bench.call(.delete, "\(Self.room)/muted/mallory").status == 204)
            for _ in 0..<2 { #expect(try await Self.say("x", bench, as: "mallory").status == 201) }
            let fast = try await Self.say("x", bench, as: "mallory")
            // The wait is 100 s, less the time that has passed.
            let wait = fast.headers[.retryAfter].flatMap { Int($0) } ?? 0
            #expect(fast.status == 429 && 60...100 ~= wait, "\(fast.text)")
            #expect(try await bench.call(.post, "/v1/rooms/nobody/messages", #"{"text":"x"}"#).status == 404)
            #expect(
                try await bench.call(.get, "/metrics").text.contains(
                    "channel_messages_refused_total{reason=\"muted\"} 1\n"))
        }
    }

    @Test func viewersAreLimited() async throws {
        try await withService(["channel.maxViewersPerAddress": ["2"]]) { bench in
            let followers = try await (0..<2).asyncMap { _ in try await Self.follow(bench) }
            let third = try await Self.follow(bench)
            // The body may come after the head.
            try await eventually("\(third.text)") {
                third.text.contains("channel.maxViewersPerAddress") ? true : nil
            }
            #expect(third.text.hasPrefix("HTTP/1.1 503 "))
            followers[0].close()
            try await eventually {
                let next = try await Self.follow(bench)
                defer { next.close() }
                return next.text.hasPrefix("HTTP/1.1 200 ") ? true : nil
            }
        }
    }

    /// A follower that reads nothing is disconnected; the others receive everything meanwhile.
    @Test func aSlowFollowerIsDropped() async throws {
        let settings = [
            "channel.roomRate": ["10000"], "channel.roomBurst": ["100000"], "channel.userRate": ["1000"],
            "channel.userBurst": ["10000"], "channel.maxCharacters": ["2000"], "http.rate.requests": ["0"],
        ]
        try await withService(settings) { bench in
            // This client never reads.
            let slow = try PlainClient(port: try #require(bench.client.port))
            slow.send("GET \(Self.room)/channel HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
            let quick = try await Self.follow(bench)
            try await eventually { quick.text.contains(#""channel":2"#) ? true : nil }
            let text = String(repeating: "x", count: 2000)
            var sent = 0
            try await eventually {
                for _ in 0..<50 {
                    #expect(try await Self.say(text, bench).status == 201)
                    sent += 1
                }
                return try await bench.call(.get, "/metrics").text.contains("\nchannel_viewers_dropped_total 1\n")
                    ? true : nil
            }
            try await eventually {
                quick.text.components(separatedBy: "event: comment\n").count - 1 == sent ? true : nil
            }
            withExtendedLifetime(slow) {}
        }
    }

    @Test func streamsEndInGoodOrderWithTheService() async throws {
        let streams = LockedBox<[RawConnection]>([])
        try await withService { bench in
            let follower = try await Self.follow(bench)
            streams.value = [follower]
            try await eventually { follower.text.contains("event: viewers") ? true : nil }
        }
        let follower = try #require(streams.value.first)
        try await eventually { follower.isClosed ? true : nil }
        // The last chunk of a chunked body.
        #expect(follower.text.hasSuffix("\r\n0\r\n\r\n"))
    }

    @Test func channelsCanBeSwitchedOff() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(
                directory: directory, store: MemoryTaskStore(), settings: ["channel.enabled": ["false"]]
            ) { (bench: Bench) async throws in
                #expect(try await bench.call(.get, "\(Self.room)/messages").status == 404)
            }
        }
    }
}

extension Sequence {
    fileprivate func asyncMap<Result>(_ transform: (Element) async throws -> Result) async throws -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}
