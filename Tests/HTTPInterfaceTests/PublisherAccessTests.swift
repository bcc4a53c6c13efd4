import EventSubscription
import Foundation
import MixModel
import Testing

@testable import HTTPInterface
@testable import RoomService

/// The right to publish to the service's own server, and the reasons of refusals.
@Suite struct PublisherAccessTests {
    private static let key = "ingest-key-0123456789"

    private func access(
        keys: [String] = [], playback: [String] = [], tokens: [(String, AppID, Set<Scope>)] = [], play: Bool = false,
        failures: Int = 0
    ) throws -> PublisherAccess {
        var all = AccessTokens()
        for (token, app, scopes) in tokens { _ = all.add(token, app: app, scopes: scopes) }
        return PublisherAccess(
            signatures: PlaybackAccess(keys: keys), tokens: all,
            names: try NamePatterns([], tenants: ["shop"]), allowsPlay: play,
            playback: PlaybackAccess(keys: playback), limits: RateLimits(requests: 0, events: 0, failures: failures))
    }

    private func request(
        _ name: String = "lobby__alice", query: String = "", isPublish: Bool = true, app: String = "live"
    ) -> IngestRequest {
        IngestRequest(
            request: 1, isPublish: isPublish, application: app, name: name, query: query, address: "10.0.0.1",
            session: "s")
    }

    private func reason(_ verdict: IngestVerdict) -> String? {
        if case .refused(_, let reason) = verdict { reason } else { nil }
    }

    private func names(_ app: AppID = .standard) -> IngestVerdict {
        .allowed(StreamNames(room: RoomID(app: app, name: "lobby"), user: "alice", stream: .camera))
    }

    @Test func withoutKeysAndTokensTheNameDecides() throws {
        let open = try access()
        #expect(open.verdict(on: request()) == names())
        #expect(
            open.verdict(on: request("alice"))
                == .nameless(
                    app: .standard, reason: "the stream key is in no room: the name does not fit {room}__{user}"))
        #expect(reason(open.verdict(on: request(isPublish: false)))?.contains("ingest.play") == true)
        #expect(try access(play: true).verdict(on: request(isPublish: false)) == names())
    }

    @Test func programsAreForViewers() throws {
        func play(_ app: String, _ name: String, _ query: String = "") -> IngestRequest {
            request(name, query: query, isPublish: false, app: app)
        }
        // Neither ingest.play nor publishers' keys matter.
        let open = try access(keys: [Self.key])
        let lobby = RoomID(app: .standard, name: "lobby")
        #expect(open.verdict(on: play("program", "lobby")) == .program(lobby, task: nil))
        #expect(open.verdict(on: play("program", "lobby", "task=t1")) == .program(lobby, task: "t1"))
        let ofShop = IngestVerdict.program(RoomID(app: "shop", name: "a b"), task: nil)
        #expect(
            open.verdict(on: play("program/shop", "a%20b"))
                == .refused(
                    isName: true,
                    reason:
                        "the room is not valid: expected 1 to 128 bytes without spaces, control characters or any of / ? # % \\"
                ))
        #expect(open.verdict(on: play("program/shop", "ab")) == .program(RoomID(app: "shop", name: "ab"), task: nil))
        #expect(open.verdict(on: play("program", "shop/%C3%A9")) == .program(RoomID(app: "shop", name: "é"), task: nil))
        #expect(open.verdict(on: play("program/shop", "a b")) != ofShop)
        for other in [play("program/a/b", "c"), play("live", "program"), play("", "program")] {
            #expect(reason(open.verdict(on: other))?.contains("ingest.play") == true, "\(other.application)")
        }
        let closed = try access(playback: [Self.key])
        let later = Int(Date.now.timeIntervalSince1970) + 60
        func signed(_ path: String) -> String {
            "auth_key=" + PlaybackAccess.authKey(path: path, time: later, key: Self.key)
        }
        #expect(closed.verdict(on: play("program", "lobby", signed("/program/lobby"))) == .program(lobby, task: nil))
        #expect(reason(closed.verdict(on: play("program", "lobby")))?.contains("the URL has no auth_key") == true)
        for path in ["/live/lobby.flv", "/program/hall"] {
            #expect(
                reason(closed.verdict(on: play("program", "lobby", signed(path))))?.contains("not made for") == true)
        }
    }

    @Test func aSignedURLIsForOneStream() throws {
        let closed = try access(keys: [Self.key])
        let later = Int(Date.now.timeIntervalSince1970) + 60
        func signed(_ path: String, _ time: Int) -> String {
            "auth_key=" + PlaybackAccess.authKey(path: path, time: time, key: Self.key)
        }
        #expect(closed.verdict(on: request(query: signed("/live/lobby__alice", later))) == names())
        for (query, words) in [
            ("", "has no auth_key"), ("auth_key=1", "not of the form"),
            (signed("/live/lobby__bob", later), "not made for this stream key"),
            (signed("/live/lobby__alice", 1000), "expired"),
        ] {
            let reason = reason(closed.verdict(on: request(query: query))) ?? ""
            #expect(reason.contains(words) && reason.contains("sign-url"), "\(reason)")
            #expect(!reason.contains("lobby"), "no name is repeated")
        }
        // A name beyond ASCII is signed as in the URL, and sent unchanged.
        let name = "lobby__J\u{F6}rg"
        let query = signed("/live/lobby__J%C3%B6rg", later)
        #expect(reason(closed.verdict(on: request(name, query: query))) == nil)
    }

    @Test func aTokenIsForItsAppAndScope() throws {
        let tokens: [(String, AppID, Set<Scope>)] = [
            ("publish-token-0123", "shop", [.publish]), ("read-token-0123456", "shop", [.read, .events]),
        ]
        let closed = try access(tokens: tokens, play: true)
        #expect(closed.verdict(on: request(query: "token=publish-token-0123")) == names("shop"))
        #expect(reason(closed.verdict(on: request()))?.contains("scope publish") == true)
        #expect(reason(closed.verdict(on: request(query: "token=wrong")))?.contains("not known") == true)
        #expect(
            reason(closed.verdict(on: request(query: "token=read-token-0123456")))
                == "the token lacks the scope publish")
        #expect(closed.verdict(on: request(query: "token=read-token-0123456", isPublish: false)) == names("shop"))
        #expect(reason(closed.verdict(on: request(query: "token=publish-token-0123", isPublish: false))) != nil)
        // Either the key or a token is enough.
        let both = try access(keys: [Self.key], tokens: tokens)
        #expect(both.verdict(on: request(query: "token=publish-token-0123")) == names("shop"))
        #expect(reason(both.verdict(on: request()))?.contains("?token=") == true)
    }

    @Test func guessingIsSlowedDown() throws {
        let closed = try access(keys: [Self.key], failures: 2)
        for _ in 0..<2 { #expect(reason(closed.verdict(on: request()))?.contains("no auth_key") == true) }
        #expect(reason(closed.verdict(on: request()))?.contains("too many refused attempts") == true)
        // A valid token counts even then.
        let token = "publish-0123456789abcdef"
        let open = try access(tokens: [(token, .standard, [.publish])], failures: 1)
        for _ in 0..<2 { _ = open.verdict(on: request()) }
        #expect(open.verdict(on: request(query: "token=\(token)")) == names())
    }
}
