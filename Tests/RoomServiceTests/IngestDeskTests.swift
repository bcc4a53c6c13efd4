import EventSubscription
import Foundation
import MixModel
import Testing

@testable import RoomService

/// The events that follow from reports of an ingest.
@Suite struct IngestDeskTests {
    private static let key = IngestStreamKey(
        StreamNames(room: RoomID(app: .standard, name: "lobby"), user: UserID("alice"), stream: .camera))
    private static let url = "rtmp://127.0.0.1:1935/relay/x"

    private func begin(_ desk: inout IngestDesk, _ session: String, now: Int64 = 0) -> RoomEvent? {
        let event = desk.begins(Self.key, session: session, url: Self.url, now: now)
        desk.settle(Self.key, session: session, url: Self.url, as: .stored, now: now)
        return event
    }

    @Test func aStreamBeginsAndEnds() throws {
        var desk = IngestDesk(run: "r", now: 0)
        let begun = begin(&desk, "a")
        let begin = try #require(begun)
        #expect(begin.kind == .streamPublished(Publication(user: UserID("alice"), url: Self.url)))
        #expect(begin.source == "/ingest/rtmp#r" && desk.hasPublisher(Self.key))
        #expect(desk.ends(Self.key, session: "other", now: 1) == nil)
        let ended = desk.ends(Self.key, session: "a", now: 1)
        let end = try #require(ended)
        #expect(end.kind == .streamUnpublished(user: UserID("alice"), stream: .camera, reason: nil))
        #expect(end.sequence ?? 0 > begin.sequence ?? .max)
        desk.settleEnd(Self.key, session: "a", as: .stored)
        #expect(!desk.has(Self.key) && desk.journal.isEmpty)
    }

    /// After a change of `ingest.rtmp.listen`, the URLs in the rooms name a port that is no longer listened at.
    @Test func streamsOfAnotherPlaceAreStoredAgain() throws {
        let data = FileManager.default.temporaryDirectory.appending(path: "desk-\(UInt32.random(in: 0 ... .max))").path
        defer { try? FileManager.default.removeItem(atPath: data) }
        let files = try IngestFiles(data: data)
        try files.write([Self.key: "r-1"], origins: [:], at: "127.0.0.1:1935")
        #expect(files.journal(at: "127.0.0.1:1935") == [Self.key: "r-1"] && files.origins.isEmpty)
        let moved = files.journal(at: "127.0.0.1:1936")
        #expect(moved == [Self.key: ""])
        var desk = IngestDesk(run: "r", journal: moved, now: 0)
        let isKnown = desk.isLive(Self.key, session: "r-1", isConnected: true)
        #expect(!isKnown)
        #expect(
            begin(&desk, "r-1", now: 1)?.kind == .streamPublished(Publication(user: UserID("alice"), url: Self.url)))
        let isKnownNow = desk.isLive(Self.key, session: "r-1", isConnected: true)
        #expect(isKnownNow)
        // Streams that do not come back are ended.
        var lost = IngestDesk(run: "r", journal: moved, now: 0)
        let overdue = lost.overdue(grace: 1, now: 1_000_000_000)
        let ended = lost.ends(Self.key, session: "", now: 2)
        #expect(overdue.map(\.session) == [""] && ended != nil)
        // The format of earlier releases.
        try Data(#"{"default/lobby/alice/camera": "r-1"}"#.utf8).write(
            to: URL(fileURLWithPath: data + "/ingest/streams.json"))
        #expect(files.journal(at: "127.0.0.1:1936") == [Self.key: "r-1"] && files.origins.isEmpty)
        // The origin of a stream, which is the room whose program it is, outlives the service.
        let room = RoomID(app: AppID("tenant"), name: "a room/é")
        try files.write([Self.key: "r-1"], origins: [Self.key: room], at: "127.0.0.1:1935")
        #expect(files.origins == [Self.key: room] && files.journal(at: "127.0.0.1:1935") == [Self.key: "r-1"])
    }

    /// A publisher that takes over and leaves is gone, even in the seconds in which a media server may turn away a
    /// publisher that it has asked about.
    @Test func whoTakesOverAndLeavesIsGone() {
        var desk = IngestDesk(run: "r", now: 0)
        _ = begin(&desk, "a")
        #expect(begin(&desk, "b", now: 1) != nil)
        #expect(desk.ends(Self.key, session: "a", now: 2) == nil, "the first one's end is none")
        #expect(desk.ends(Self.key, session: "b", now: 3) != nil)
    }

    private static func present(_ session: String, isConnected: Bool = true) -> IngestStream {
        IngestStream(stream: key.text, session: session, isConnected: isConnected)
    }

    /// A publisher that left while the service decided about it is let in, but the ingest never gave it the stream. The one
    /// that is connected keeps its place, and can end at once.
    @Test func whoLeftBeforeItBeganLeavesTheFirstInPlace() {
        var desk = IngestDesk(run: "r", now: 0)
        _ = begin(&desk, "a")
        _ = begin(&desk, "b", now: 1)
        let isBack = desk.returns(Self.key, to: Self.present("a"), from: "b", now: 2)
        #expect(isBack && desk.session(of: Self.key) == "a" && desk.hasPublisher(Self.key))
        #expect(desk.journal == [Self.key: "a"])
        #expect(desk.ends(Self.key, session: "b", now: 3) == nil, "the room keeps the stream")
        #expect(desk.ends(Self.key, session: "a", now: 4) != nil)
    }

    @Test func whoLeftBeforeItBeganChangesNothingForANewerOne() {
        var desk = IngestDesk(run: "r", now: 0)
        for session in ["a", "b", "c"] { _ = begin(&desk, session) }
        let isBack = desk.returns(Self.key, to: Self.present("a"), from: "b", now: 2)
        #expect(!isBack && desk.session(of: Self.key) == "c")
        #expect(desk.ends(Self.key, session: "c", now: 3) != nil)
    }

    /// The first one has lost its connection, and the ingest keeps its place.
    @Test func whoLeftBeforeItBeganLeavesAPlaceThatIsKept() {
        var desk = IngestDesk(run: "r", now: 0)
        _ = begin(&desk, "a")
        desk.interrupted(Self.key, session: "a")
        _ = begin(&desk, "b", now: 1)
        let isBack = desk.returns(Self.key, to: Self.present("a", isConnected: false), from: "b", now: 2)
        #expect(isBack && !desk.hasPublisher(Self.key) && desk.overdue(grace: 0, now: .max).isEmpty)
        #expect(desk.ends(Self.key, session: "a", now: 3) != nil)
    }

    @Test func whoBeginsAgainCanStillEnd() {
        var desk = IngestDesk(run: "r", now: 0)
        _ = begin(&desk, "a")
        _ = begin(&desk, "a", now: 1)
        #expect(desk.ends(Self.key, session: "a", now: 2) != nil)
    }

    @Test func whoIsRefusedLeavesTheFirstInPlace() {
        var desk = IngestDesk(run: "r", now: 0)
        _ = begin(&desk, "a")
        _ = desk.begins(Self.key, session: "b", url: Self.url, now: 1)
        desk.settle(Self.key, session: "b", url: Self.url, as: .refused, now: 1)
        #expect(desk.ends(Self.key, session: "b", now: 2) == nil)
        #expect(desk.ends(Self.key, session: "a", now: 3) != nil)
    }

    /// The service was restarted beside the first publisher, and the second one is over the app's quota.
    @Test func whoIsRefusedAfterARestartLeavesTheFirstInPlace() {
        var desk = IngestDesk(run: "s", journal: [Self.key: "a"], now: 0)
        let isKnown = desk.isLive(Self.key, session: "a", isConnected: true)
        #expect(isKnown)
        #expect(desk.begins(Self.key, session: "b", url: Self.url, now: 1) != nil)
        desk.settle(Self.key, session: "b", url: Self.url, as: .refused, now: 1)
        #expect(desk.ends(Self.key, session: "b", now: 2) == nil)
        #expect(desk.ends(Self.key, session: "a", now: 3) != nil)
    }

    @Test func anEndThatIsNotStoredIsTriedAgain() {
        var desk = IngestDesk(run: "r", now: 0)
        _ = begin(&desk, "a")
        #expect(desk.ends(Self.key, session: "a", now: 1) != nil)
        desk.settleEnd(Self.key, session: "a", as: .failed)
        #expect(desk.overdue(grace: 10, now: 10_000_000_000).isEmpty)
        #expect(desk.overdue(grace: 10, now: 10_000_000_001).map(\.session) == ["a"])
        #expect(desk.ends(Self.key, session: "a", now: 10_000_000_001) != nil)
    }

    /// The ingest is lost while a publisher's event is being stored: nobody will report the publisher's end.
    @Test func whoBeginsWithoutAnIngestIsMissing() {
        var desk = IngestDesk(run: "r", now: 0)
        #expect(desk.begins(Self.key, session: "a", url: Self.url, now: 1) != nil)
        desk.lost(now: 2)
        desk.settle(Self.key, session: "a", url: Self.url, as: .stored, now: 3)
        #expect(!desk.hasPublisher(Self.key), "it may ask again")
        #expect(desk.overdue(grace: 5, now: 5_000_000_003).map(\.session) == ["a"])
        // A report that has been waiting since before the loss.
        let isKnown = desk.isLive(Self.key, session: "a", isConnected: true)
        #expect(isKnown && desk.overdue(grace: 5, now: 5_000_000_003).map(\.session) == ["a"])
        desk.found()
        let isListed = desk.isLive(Self.key, session: "a", isConnected: true)
        #expect(isListed && desk.hasPublisher(Self.key) && desk.overdue(grace: 5, now: .max).isEmpty)
    }

    @Test func afterARestartStreamsGoOnOrAreMissing() {
        var desk = IngestDesk(run: "s", journal: [Self.key: "a"], now: 0)
        #expect(desk.isLive(Self.key, session: "a", isConnected: true) == true)
        #expect(desk.overdue(grace: 1, now: .max).isEmpty)
        desk.lost(now: 5)
        #expect(!desk.hasPublisher(Self.key))
        #expect(desk.overdue(grace: 0, now: 5).count == 1)
        #expect(desk.ends(Self.key, session: "a", now: 6) != nil)
        desk.settleEnd(Self.key, session: "a", as: .stored)
        // The desk does not know this stream.
        #expect(desk.isLive(Self.key, session: "a", isConnected: true) == false)
        #expect(begin(&desk, "a", now: 7) != nil)
    }

    @Test(arguments: [("lobby", "alice"), ("a/b", "ü%"), ("x y", "..")]) func aKeyIsReadAsItIsWritten(
        room: String, user: String
    ) throws {
        let names = StreamNames(room: RoomID(app: AppID("shop"), name: room), user: UserID(user), stream: .screen)
        let key = IngestStreamKey(names)
        #expect(IngestStreamKey(key.text) == key)
        #expect(key.text.utf8.allSatisfy { 0x21...0x7E ~= $0 } && key.text.split(separator: "/").count == 4)
    }

    @Test func whatIsNoKeyIsNone() {
        for text in [
            "", "a/b/c", "default/lobby/alice/camera/x", "default/lobby/alice/lamp", "default/lo bby/alice/camera",
        ] {
            #expect(IngestStreamKey(text) == nil, "\(text)")
        }
    }

    /// Even with `grace: 0`, a restarted service does not at once end streams that have not been reported yet.
    @Test(arguments: [(0.0, 5.0), (2.5, 5.0), (10.0, 10.0)]) func streamsAreMissingForSomeSeconds(
        grace: Double, absence: Double
    ) {
        var rules = IngestRules(host: "127.0.0.1", port: 1935)
        rules.grace = grace
        #expect(rules.absence == absence)
    }

    @Test func relaysGetTheLoopbackAddressAndACode() {
        #expect(IngestRules(host: "127.0.0.1", port: 1935).playPlace == "rtmp://127.0.0.1")
        #expect(IngestRules(host: "::1", port: 1936).playPlace == "rtmp://[::1]:1936")
        var rules = IngestRules(host: "0.0.0.0", port: 1936)
        #expect(rules.playPlace == nil)
        let url = Self.key.url(of: rules, secret: "s")
        #expect(url.hasPrefix("rtmp://127.0.0.1:1936/relay/default/lobby/alice/camera?relay="))
        #expect(url.split(separator: "=").last?.count == 64)
        #expect(Self.key.url(of: rules, secret: "t") != url)
        rules.host = "::"
        #expect(Self.key.url(of: rules, secret: "s").hasPrefix("rtmp://[::1]:1936/"))
    }
}
