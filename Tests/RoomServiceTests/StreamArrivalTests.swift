import EventSubscription
import MixModel
import Testing

@testable import RoomService

/// The stream that an ingest's event finds in the room.
@Suite struct StreamArrivalTests {
    static let own = "/relay/default/demo/alice/camera?relay=aa"

    private func published(_ url: String) -> RoomEvent {
        RoomEvent(
            room: "demo", source: "/ingest/rtmp#x", id: "1",
            kind: .streamPublished(Publication(user: "alice", url: url)))
    }

    private let ended = RoomEvent(
        room: "demo", source: "/ingest/rtmp#x", id: "2",
        kind: .streamUnpublished(user: "alice", stream: .camera, reason: nil))

    private func room(_ url: String?) -> Room {
        var room = Room(id: "demo")
        if let url { _ = RoomMachine.apply(published(url), to: &room) }
        return room
    }

    @Test(
        arguments: [
            (nil, nil), ("rtmp://127.0.0.1/live/alice", nil),
            // The stream is at the event's own ingest, even if that has moved.
            ("rtmp://10.0.0.1:1935" + StreamArrivalTests.own, nil),
            ("rtmp://10.0.0.9:1936" + StreamArrivalTests.own, nil),
            ("rtmp://10.0.0.2:1935/relay/default/demo/alice/camera?relay=bb", true),
            ("rtmp://[2001:db8::1]:1935/relay/default/demo/alice/camera?relay=bb", true),
            // Another stream at an ingest, or no URL of an ingest.
            ("rtmp://10.0.0.2:1935/relay/default/demo/alice/screen?relay=bb", nil),
            ("rtmp://10.0.0.2:1935/relay/default/demo/alice/camera?token=bb", nil),
            ("https://10.0.0.2:1935/relay/default/demo/alice/camera?relay=bb", nil),
        ] as [(String?, Bool?)])
    func whoBeginsMeetsTheStreamOfAnotherIngest(present: String?, isMet: Bool?) {
        let meeting = StreamMeeting(published("rtmp://10.0.0.1:1935" + Self.own), at: Self.own, in: room(present))
        guard case .other(let holder) = meeting else { return #expect(isMet == nil && meeting == .free) }
        #expect(isMet == true && holder.url == present)
    }

    @Test func anEndCountsForTheStreamThatItEnds() {
        #expect(StreamMeeting(ended, at: Self.own, in: room(nil)) == .free)
        #expect(StreamMeeting(ended, at: Self.own, in: room("rtmp://10.0.0.1:1935" + Self.own)) == .free)
        let other = "rtmp://10.0.0.2:1935/relay/default/demo/alice/camera?relay=bb"
        for url in [other, "rtmp://127.0.0.1/live/alice"] {
            #expect(StreamMeeting(ended, at: Self.own, in: room(url)) == .over)
        }
    }

    @Test func whoYieldsTakesThePlaceOfTheOneThatIsGone() {
        let one = StreamHolder(url: "rtmp://10.0.0.2/relay/x?relay=1", event: "1 s")
        #expect(StreamTurn.takes.takes(from: one))
        #expect(!StreamTurn.yields(except: nil).takes(from: one) && StreamTurn.yields(except: one).takes(from: one))
        let others = [
            StreamHolder(url: "rtmp://10.0.0.3/relay/x?relay=2", event: "1 s"),
            StreamHolder(url: one.url, event: "2 s"),
        ]
        for other in others { #expect(!StreamTurn.yields(except: one).takes(from: other)) }
    }

    /// A publisher that leaves and returns to the same ingest has the same URL, but counts as another holder.
    @Test func whoIsBackIsAnother() throws {
        var room = room(nil)
        let url = "rtmp://10.0.0.2:1935/relay/default/demo/alice/camera?relay=bb"
        func holder(_ sequence: UInt64) throws -> StreamHolder {
            var event = published(url)
            event.sequence = sequence
            _ = RoomMachine.apply(event, to: &room)
            let meeting = StreamMeeting(published("rtmp://10.0.0.1:1935" + Self.own), at: Self.own, in: room)
            guard case .other(let holder) = meeting else { throw Missing() }
            return holder
        }
        let (first, second) = (try holder(1), try holder(2))
        #expect(first.url == second.url && first != second)
    }

    private struct Missing: Error {}

    @Test(arguments: [
        "", "rtmp://", "rtmp:///relay/x", "rtmp://h", "rtmp://h/", "rtmp://h/relay/x", "rtmp://h/relay/x?",
        "rtmp://\u{301}/?relay=",
        "rtmp://h\u{301}/relay/x?Relay=1",
    ]) func whatIsNoURLOfAnIngestIsNone(text: String) {
        #expect(IngestStreamURL(text) == nil)
    }

    @Test func aURLHasAPlaceAndAPath() throws {
        let url = try #require(IngestStreamURL("rtmp://[::1]:99/relay/x\u{301}?relay=1"))
        #expect(url.place == "[::1]:99" && url.path == "/relay/x\u{301}?relay=1")
        #expect(url.isElsewhere(than: "/relay/x\u{301}?relay=2"))
        #expect(!url.isElsewhere(than: url.path) && !url.isElsewhere(than: "/relay/y?relay=2"))
        #expect(!url.isElsewhere(than: "/relay/x\u{301}"))
    }
}
