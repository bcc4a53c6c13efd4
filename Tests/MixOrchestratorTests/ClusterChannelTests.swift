import Foundation
import MixModel
import StoreSupport
import TaskStore
import TestSupport
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Channels of rooms at other nodes, with scripted relays.
@Suite(.timeLimit(.minutes(3))) struct ClusterChannelTests {
    private static let places = [false] + (PostgreSQLServer.isInstalled ? [true] : [])
    private static let settings = [
        "channel.userRate": ["1000"], "channel.userBurst": ["10000"], "channel.roomRate": ["10000"],
        "channel.roomBurst": ["100000"], "channel.history": ["1000"], "http.rate.requests": ["0"],
    ]

    /// A program whose relay can be moved.
    private func begin(_ room: String, at node: ClusterMember) async throws {
        try await node.publish("alice", room: room)
        let relay = try await eventually { node.running(TaskID("auto-\(room)")).first { $0.plan != nil } }
        relay.setPlace(ProgramPlace(wallZero: 1_700_000_000, noted: .seconds(30), ahead: .milliseconds(40)))
    }

    private func drain(_ node: ClusterMember) async throws {
        let answer = try await node.call("POST", "/v1/node/drain")
        #expect(try answer.value("moved") == "1" && answer.value("left") == "0", "\(answer.text)")
        #expect(try await node.call("DELETE", "/v1/node/drain").status == 204)
    }

    /// Followers at every node get the messages written at every node, and all followers are counted.
    @Test(arguments: places) func aChannelIsTheSameAtAllNodes(onPostgreSQL: Bool) async throws {
        try await withCluster(onPostgreSQL: onPostgreSQL, settings: Self.settings) { start in
            let (a, b, c) = (try await start("a", nil), try await start("b", nil), try await start("c", nil))
            try await begin("demo", at: a)
            var listeners: [ChannelListener] = []
            for node in [a, b, c] { listeners.append(try await ChannelListener.open("demo", at: node)) }
            for node in [a, b, c] { #expect(try await node.say("from \(node.name)").status == 201) }
            for listener in listeners {
                try await eventually { listener.texts == ["from a", "from b", "from c"] ? true : nil }
                try await eventually { listener.viewers == 3 ? true : nil }
                #expect(listener.text.contains(#""isLive":true"#))
            }
            #expect(try await b.call("GET", "/metrics").text.contains("\nchannel_mirrors 1\n"))
            let like = try await c.call("POST", "/v1/rooms/demo/messages", #"{"kind":"like","count":3}"#)
            #expect(try like.value("total") == "3")

            // Moderation, and the refusals.
            #expect(try await b.call("PUT", "/v1/rooms/demo/muted/eve").status == 204)
            let muted = try await c.say("let me", as: "eve")
            #expect(muted.status == 403 && muted.text.contains("channel-muted"), "\(muted.text)")
            let rules = try await c.call("PATCH", "/v1/rooms/demo/rules", #"{"words":["darn"]}"#)
            #expect(try rules.value("words.0") == "darn" && rules.value("muted.0.user") == "eve", "\(rules.text)")
            #expect(try await b.call("GET", "/v1/rooms/demo/rules").value("words.0") == "darn")
            #expect(try await b.say("darn it").status == 403)
            let oops = try #require(try await b.say("oops").value("id"))
            #expect(try await c.call("DELETE", "/v1/rooms/demo/messages/\(oops)").status == 204)
            #expect(try await c.call("DELETE", "/v1/rooms/demo/messages/\(oops)").status == 404)
            for listener in listeners {
                try await listener.hears("event: deleted\ndata: {\"id\":\(oops)}")
                try await listener.hears(#"event: rules"#)
                try await listener.hears(#""total":3"#)
            }

            // A late follower gets the earlier messages, or only new ones if it asks for that.
            let history = try await c.call("GET", "/v1/rooms/demo/messages")
            #expect(try history.value("messages.2.text") == "from c" && history.value("messages.3") == nil)
            let second = try #require(try history.value("messages.1.id"))
            let late = try await ChannelListener.open("demo?after=\(second)", at: b)
            try await eventually { late.texts == ["from c"] ? true : nil }
            #expect(late.text.contains(#""isIncomplete":false"#))

            late.close()
            listeners[2].close()
            try await eventually { listeners[0].viewers == 2 ? true : nil }

            // The channel ends at every node together with its room.
            let end = #"{"type":"stream.unpublished","user":"alice"}"#
            #expect(try await b.call("POST", "/v1/rooms/demo/events", end).status == 202)
            #expect(try await c.call("DELETE", "/v1/rooms/demo").status == 204)
            for listener in listeners.prefix(2) {
                try await listener.hears("event: ended")
                try await eventually { listener.text.hasSuffix("\r\n0\r\n\r\n") ? true : nil }
            }
            #expect(try await b.say("x").status == 404)
        }
    }

    /// A room moves twice while clients write at all nodes. Every accepted message reaches all followers once and in
    /// order, and the channel's state moves along.
    @Test(arguments: [false, true]) func aMoveTakesTheChannelAlong(isStored: Bool) async throws {
        let settings = Self.settings.merging(["channel.stored": ["\(isStored)"]]) { $1 }
        try await withCluster(onPostgreSQL: PostgreSQLServer.isInstalled, settings: settings) { start in
            let (a, b) = (try await start("a", nil), try await start("b", nil))
            let c = try await start("c", nil)
            try await begin("demo", at: a)
            #expect(try await b.call("PUT", "/v1/rooms/demo/muted/mallory").status == 204)
            #expect(try await c.call("PATCH", "/v1/rooms/demo/rules", #"{"words":["darn"]}"#).status == 200)
            let like = #"{"kind":"like","count":5}"#
            #expect(try await a.call("POST", "/v1/rooms/demo/messages", like).status == 201)
            var listeners: [ChannelListener] = []
            for node in [a, b, c] { listeners.append(try await ChannelListener.open("demo", at: node)) }

            let writing = LockedBox(true)
            let answered = try await withThrowingTaskGroup(of: [Int64].self) { group in
                for node in [a, b, c] {
                    group.addTask {
                        var ids: [Int64] = []
                        while writing.value {
                            let answer = try await node.say("x", as: node.name)
                            #expect(answer.status == 201, "\(answer.text)")
                            if let id = try answer.value("id").flatMap({ Int64($0) }) { ids.append(id) }
                            try await Task.sleep(for: .milliseconds(50))
                        }
                        return ids
                    }
                }
                try await eventually { listeners.allSatisfy { $0.ids.count > 20 } ? true : nil }
                try await drain(a)
                let next = try await eventually { [b, c].first { !$0.running("auto-demo").isEmpty } }
                let count = listeners[0].ids.count
                try await eventually { listeners[0].ids.count > count + 20 ? true : nil }
                try await drain(next)
                let later = listeners[1].ids.count
                try await eventually { listeners[1].ids.count > later + 20 ? true : nil }
                writing.value = false
                return try await group.reduce(into: [Int64]()) { $0 += $1 }
            }
            for listener in listeners {
                try await eventually("\(listener.ids.count) of \(answered.count)") {
                    Set(listener.ids).isSuperset(of: answered) ? true : nil
                }
                #expect(listener.ids == listener.ids.sorted() && Set(listener.ids).count == listener.ids.count)
                #expect(!listener.isClosed && !listener.text.contains("event: ended"))
            }
            #expect(Set(answered).count == answered.count)
            for node in [a, b, c] {
                let history = try await node.call("GET", "/v1/rooms/demo/messages")
                let ids = history.text.matches(of: /"id":(\d+)/).compactMap { Int64($0.1) }
                #expect(Set(ids).isSuperset(of: answered.sorted().suffix(300)), "\(node.name): \(ids.count)")
                #expect(try history.value("state.likes") == "5")
                #expect(try await node.say("x", as: "mallory").status == 403)
                #expect(try await node.say("darn").status == 403)
            }
            #expect(try await b.call("POST", "/v1/rooms/demo/messages", like).value("total") == "10")
            for listener in listeners { try await listener.hears(#""total":10"#) }
        }
    }

    /// A room without programs also moves with its channel.
    @Test func aRoomWhereOnlyPeopleWriteMoves() async throws {
        try await withCluster(settings: Self.settings) { start in
            let (a, b) = (try await start("a", nil), try await start("b", nil))
            #expect(try await a.call("PUT", "/v1/rooms/demo", "{}").status == 201)
            let listeners = [
                try await ChannelListener.open("demo", at: a), try await ChannelListener.open("demo", at: b),
            ]
            #expect(try await b.say("one").status == 201)
            try await drain(a)
            #expect(try await a.say("two").status == 201)
            for listener in listeners { try await eventually { listener.texts == ["one", "two"] ? true : nil } }
            #expect(try await a.call("GET", "/v1/rooms/demo/messages").value("messages.0.text") == "one")
            #expect(try await a.call("GET", "/metrics").text.contains("\nchannel_mirrors 1\n"))
            #expect(try await b.call("GET", "/metrics").text.contains("\nchannels 1\n"))
        }
    }

    /// Followers of a lost node's room stay connected and continue at the next node. A node that has mirrored the
    /// channel continues from its copy.
    @Test(arguments: [false, true]) func aLostNodeDisconnectsNobody(endsInGoodOrder: Bool) async throws {
        try await withCluster(onPostgreSQL: PostgreSQLServer.isInstalled, settings: Self.settings) { start in
            let (a, b) = (try await start("a", nil), try await start("b", nil))
            let c = try await start("c", nil)
            try await begin("demo", at: a)
            let listeners = [
                try await ChannelListener.open("demo", at: b), try await ChannelListener.open("demo", at: c),
            ]
            #expect(try await c.say("one").status == 201)
            for listener in listeners { try await eventually { listener.texts == ["one"] ? true : nil } }
            if endsInGoodOrder {
                try await a.stop()
            } else {
                #expect(try await b.call("DELETE", "/v1/nodes/a").status == 204)
            }
            try await eventually { try await b.say("two").status == 201 ? true : nil }
            for listener in listeners {
                try await eventually { listener.texts == ["one", "two"] ? true : nil }
                #expect(!listener.isClosed)
            }
            let history = try await c.call("GET", "/v1/rooms/demo/messages")
            #expect(try history.value("messages.0.text") == "one" && history.value("messages.1.text") == "two")
        }
    }

    /// Socket.IO clients at one node join, write to and close a room of another node, also after the room has moved.
    @Test func socketIOReachesRoomsOfOtherNodes() async throws {
        try await withCluster(settings: Self.settings) { start in
            let (a, b) = (try await start("a", nil), try await start("b", nil))
            try await begin("demo", at: a)
            let listener = try await ChannelListener.open("demo", at: a)
            let client = try await SocketIORoomClient.connect(port: b.port)
            let joined = try await client.call("join_room", "\"demo\"")
            #expect(joined.contains(#""ok":true"#) && joined.contains(#""isLive":true"#), "\(joined)")
            #expect(try await client.call("comment", #"{"roomKey":"demo","text":"hi"}"#).contains(#""ok":true"#))
            try await eventually { listener.texts == ["hi"] ? true : nil }
            #expect(try await a.say("hello").status == 201)
            var comment = try await client.next(#"42["comment""#)
            if comment.contains(#""text":"hi""#) { comment = try await client.next(#"42["comment""#) }
            #expect(comment.contains(#""text":"hello""#), "\(comment)")
            await client.socket.send(text: #"42["upvote","demo"]"#)
            #expect(try await client.next(#"42["upvote""#).contains(#""total":1"#))
            try await listener.hears(#""total":1"#)
            #expect(try await client.call("join_room", "\"nowhere\"").contains(#""code":"room-not-found""#))

            // The room is opened at one node and closed through it after it has moved to the other.
            let host = try await SocketIORoomClient.connect(port: b.port)
            #expect(try await host.call("create_room", #"{"key":"show","title":"Show"}"#).contains(#""ok":true"#))
            let viewer = try await SocketIORoomClient.connect(port: a.port)
            #expect(try await viewer.call("join_room", "\"show\"").contains(#""title":"Show""#))
            #expect(try await viewer.call("close_room", "\"show\"").contains(#""code":"channel-not-opener""#))
            try await drain(b)
            #expect(try await host.call("comment", #"{"roomKey":"show","text":"there"}"#).contains(#""ok":true"#))
            _ = try await viewer.next(#"42["comment""#)
            #expect(try await host.call("close_room", "\"show\"").contains(#""ok":true"#))
            _ = try await viewer.next(#"42["ended",{"roomKey":"show"}]"#)
            _ = try await viewer.next(#"42["room_closed",{"roomKey":"show"}]"#)
            try await eventually { try await a.call("GET", "/v1/rooms/show").status == 404 ? true : nil }
        }
    }

    /// A node mirrors at most its limit of channels; followers of further ones are passed on.
    @Test func mirrorsAreBounded() async throws {
        let settings = Self.settings.merging(["channel.maxChannels": ["2"]]) { $1 }
        try await withCluster(settings: settings) { start in
            let (a, b) = (try await start("a", nil), try await start("b", nil))
            let c = try await start("c", nil)
            for (node, room) in [(a, "one"), (a, "two"), (c, "three")] {
                #expect(try await node.call("PUT", "/v1/rooms/\(room)", "{}").status == 201)
            }
            var passedOn: ChannelListener?
            for room in ["one", "two", "three"] {
                let listener = try await ChannelListener.open(room, at: b)
                #expect(try await b.say("x", in: room).status == 201)
                try await eventually { listener.texts == ["x"] ? true : nil }
                passedOn = listener
            }
            #expect(try await b.call("GET", "/metrics").text.contains("\nchannel_mirrors 2\n"))
            #expect(try await c.call("GET", "/metrics").text.contains("\nchannel_viewers 1\n"))
            // A request that is passed on would delay the end of its node.
            #expect(try await c.call("DELETE", "/v1/rooms/three").status == 204)
            try await eventually { passedOn?.text.hasSuffix("\r\n0\r\n\r\n") == true ? true : nil }
        }
    }
}
