import EventSubscription
import HTTPTypes
import MixModel
import RoomChannel
import TaskStore
import TestSupport
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator
@testable import RoomService

/// Channels with `channel.stored` survive a restart.
@Suite(.timeLimit(.minutes(5))) struct ChannelStoringTests {
    private static let room = "/v1/rooms/demo"
    private static let stored: [String: [String]] = ["channel.stored": ["true"], "channel.history": ["3"]]

    private static func say(_ text: String, _ bench: Bench, as user: String = "alice") async throws -> Answer {
        try await bench.call(.post, "\(room)/messages", #"{"text":"\#(text)","user":"\#(user)"}"#)
    }

    private static func texts(_ bench: Bench) async throws -> [String] {
        let list = try await bench.call(.get, "\(room)/messages")
        return try (0..<9).compactMap { try list.value("messages.\($0).text") }
    }

    /// Runs a service twice in the same data directory.
    private func restarting(
        _ settings: [String: [String]] = stored, before: @escaping @Sendable (Bench) async throws -> Void,
        after: @escaping @Sendable (Bench) async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            for body in [before, after] {
                try await withOrchestrator(.live, directory: directory, settings: settings, body)
            }
        }
    }

    @Test func everythingIsThereAfterARestart() async throws {
        let last = LockedBox("")
        try await restarting { (bench: Bench) async throws in
            #expect(try await bench.call(.put, Self.room, "{}").status == 201)
            for text in ["one", "two", "three"] { #expect(try await Self.say(text, bench).status == 201) }
            let gift = #"{"kind":"gift","gift":{"id":"rose","price":3,"new":true},"count":2,"user":"bob","name":"Bób"}"#
            let sent = try await bench.call(.post, "\(Self.room)/messages", gift)
            last.value = try #require(try sent.value("id"))
            let oops = try #require(try await Self.say("oops", bench, as: "cara").value("id"))
            #expect(try await bench.call(.delete, "\(Self.room)/messages/\(oops)").status == 204)
            #expect(
                try await bench.call(.post, "\(Self.room)/messages", #"{"kind":"like","count":7,"user":"bob"}"#).status
                    == 201)
            #expect(try await bench.call(.put, "\(Self.room)/muted/mallory", "{}").status == 204)
            #expect(try await bench.call(.put, "\(Self.room)/muted/eve", #"{"seconds":3600}"#).status == 204)
            #expect(
                try await bench.call(.patch, "\(Self.room)/rules", #"{"words":["darn"],"slowMode":5}"#).status == 200)
        } after: { (bench: Bench) async throws in
            let list = try await bench.call(.get, "\(Self.room)/messages")
            #expect(try list.value("messages.0.text") == "two" && list.value("messages.1.text") == "three")
            #expect(try list.value("messages.2.id") == last.value && list.value("messages.3") == nil)
            #expect(list.text.contains(#""gift":{"id":"rose","new":true,"price":3}"#), "\(list.text)")
            #expect(try list.value("state.likes") == "7", "\(list.text)")
            let rules = try await bench.call(.get, "\(Self.room)/rules")
            #expect(try rules.value("slowMode") == "5" && rules.value("words.0") == "darn", "\(rules.text)")
            #expect(try rules.value("muted.0.user") == "eve" && rules.value("muted.1.user") == "mallory")
            let left = try #require(try rules.value("muted.0.seconds").flatMap { Int($0) })
            #expect(3000...3600 ~= left, "\(rules.text)")
            #expect(try await Self.say("x", bench, as: "mallory").status == 403)
            // Numbers continue, and a client that knows the last one gets newer messages only.
            let next = try #require(try await Self.say("next", bench, as: "dan").value("id"))
            #expect(try #require(Int64(next)) > (try #require(Int64(last.value))))
            let rest = try await bench.call(.get, "\(Self.room)/messages?after=\(last.value)")
            #expect(try rest.value("messages.0.text") == "next" && rest.value("messages.1") == nil)
        }
    }

    @Test func aChannelThatWasForgottenIsReadAgain() async throws {
        try await withDirectory { directory in
            let settings = Self.stored.merging(["channel.idleSeconds": ["1"]]) { $1 }
            try await withOrchestrator(.live, directory: directory, settings: settings) { (bench: Bench) async throws in
                #expect(try await bench.call(.put, Self.room, "{}").status == 201)
                #expect(try await Self.say("one", bench).status == 201)
                try await eventually("the channel is forgotten") {
                    try await bench.call(.get, "/metrics").text.contains("\nchannels 0\n") ? true : nil
                }
                #expect(try await Self.texts(bench) == ["one"])
                // The channel is removed together with its room.
                #expect(try await bench.call(.delete, Self.room).status == 204)
                #expect(try await bench.call(.put, Self.room, "{}").status == 201)
                #expect(try await Self.texts(bench) == [])
            }
        }
    }

    /// Without the setting, nothing is written and nothing is read.
    @Test func nothingIsStoredUnlessItIsWanted() async throws {
        try await restarting([:]) { (bench: Bench) async throws in
            #expect(try await bench.call(.put, Self.room, "{}").status == 201)
            #expect(try await Self.say("one", bench).status == 201)
            #expect(try await bench.store.channel(of: "demo", limit: 9) == StoredChannel())
        } after: { (bench: Bench) async throws in
            #expect(try await Self.texts(bench) == [])
        }
    }

    /// A message that cannot be stored is refused and not shown.
    @Test func aMessageThatIsNotStoredIsTakenBack() async throws {
        try await withDirectory { directory in
            let store = BreakableStore()
            try await withOrchestrator(.live, directory: directory, store: store, settings: Self.stored) {
                (bench: Bench) async throws in
                #expect(try await bench.call(.put, Self.room, "{}").status == 201)
                let kept = try #require(try await Self.say("kept", bench).value("id"))
                let follower = try await RawConnection.open(try #require(bench.client.port))
                follower.send("GET \(Self.room)/channel HTTP/1.1\r\nHost: localhost\r\n\r\n")
                try await eventually { follower.text.contains(#""text":"kept""#) ? true : nil }
                store.breaks(true)
                let refused = try await Self.say("lost", bench)
                #expect(refused.status == 503 && refused.text.contains("store-unavailable"), "\(refused.text)")
                try await eventually { follower.text.contains("event: deleted\n") ? true : nil }
                #expect(follower.text.contains(#""text":"lost""#))
                #expect(try await Self.texts(bench) == ["kept"])
                // A message that cannot be removed from the store stays, so that the moderator can try again.
                #expect(try await bench.call(.delete, "\(Self.room)/messages/\(kept)").status == 503)
                #expect(try await Self.texts(bench) == ["kept"])
                store.breaks(false)
                #expect(try await bench.call(.delete, "\(Self.room)/messages/\(kept)").status == 204)
                #expect(try await store.channel(of: "demo", limit: 9).messages == [])
                follower.close()
            }
        }
    }

    /// Subscriptions that ask for messages get them in order; other subscriptions get none.
    @Test func subscriptionsAreToldOfMessages() async throws {
        try await WebhookReceiver.run { receiver in
            try await withDirectory { directory in
                try await withOrchestrator(
                    directory: directory, settings: Self.stored, policy: DeliveryPolicy.quick
                ) { (bench: Bench) async throws in
                    #expect(try await bench.call(.put, Self.room, "{}").status == 201)
                    _ = try await bench.subscribe(receiver.url + "?all")
                    _ = try await bench.subscribe(receiver.url + "?channel", #","events":["channel.*"]"#)
                    let id = try #require(try await Self.say("one", bench).value("id"))
                    let gift = #"{"kind":"gift","gift":{"id":"rose"},"user":"bob"}"#
                    #expect(try await bench.call(.post, "\(Self.room)/messages", gift).status == 201)
                    let like = #"{"kind":"like","user":"bob"}"#
                    #expect(try await bench.call(.post, "\(Self.room)/messages", like).status == 201)
                    #expect(try await bench.call(.delete, "\(Self.room)/messages/\(id)").status == 204)
                    try await bench.join("alice")
                    try await eventually {
                        receiver.taken.contains { (try? $0.value("type")) == "participant.joined" } ? true : nil
                    }
                    let told = try await eventually {
                        let told = receiver.taken.filter { $0.path.hasSuffix("?channel") }
                        return told.count == 3 ? told : nil
                    }
                    #expect(
                        try told.map { try $0.value("type") } == [
                            "channel.message", "channel.message", "channel.messageDeleted",
                        ])
                    #expect(try told[0].value("data.text") == "one" && told[0].value("data.user") == "alice")
                    #expect(try told[1].value("data.gift.id") == "rose" && told[1].value("data.kind") == "gift")
                    #expect(try told[0].value("data.id") == id && told[2].value("data.id") == id)
                    let others = try receiver.taken.filter { $0.path.hasSuffix("?all") }.map { try $0.value("type") }
                    #expect(!others.contains { $0?.hasPrefix("channel") == true }, "\(others)")
                }
            }
        }
    }

    /// A channel is restored from any content of the store.
    @Test func whatCannotBeReadIsLeftOut() async throws {
        try await withDirectory { directory in
            let store = MemoryTaskStore()
            try await withOrchestrator(.live, directory: directory, store: store, settings: Self.stored) {
                (bench: Bench) async throws in
                #expect(try await bench.call(.put, Self.room, "{}").status == 201)
                let good = #"{"id":5,"kind":"comment","text":"good","sentAt":1}"#
                let documents = [
                    "{", "[]", #"{"id":"x"}"#, good, #"{"id":4,"kind":"comment","text":"late","sentAt":1}"#,
                ]
                try await store.commit(
                    ChannelChange(
                        of: "demo",
                        messages: documents.enumerated().map { StoredMessage(id: Int64($0 + 1), document: $1) },
                        document:
                            #"{"likes":-5,"slowMode":-1,"words":["",""],"muted":[{"user":"a","until":-9223372036854775808}]}"#,
                        kept: 9))
                #expect(try await Self.texts(bench) == ["good"])
                let rules = try await bench.call(.get, "\(Self.room)/rules")
                #expect(try rules.value("slowMode") == "0" && rules.value("muted.0") == nil, "\(rules.text)")
            }
        }
    }
}
