import Crypto
import Foundation
import MixModel
import Testing

@testable import EventSubscription

/// Webhooks of LiveKit: JSON of protocol buffers, and a token that signs the body's digest.
@Suite struct LiveKitHookTests {
    private let hook = LiveKitHook()
    private static let key = "APIw4Fvb2Xt6Kse"
    private static let apiSecret = "kFZsWPYbPkIzuXbT4Fyw5zXoWAnKm2Rm"
    private static let secret = HookSecret("\(key):\(apiSecret)")
    private static let now = 1_769_860_800.0

    private static func encoded(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    private static func digest(_ body: String) -> String {
        Data(SHA256.hash(data: Array(body.utf8))).base64EncodedString()
    }

    /// Returns a webhook with a token like that of LiveKit's SDK.
    private func signed(
        _ body: String, header: String = #"{"alg":"HS256","typ":"JWT"}"#, issuer: String = key,
        expiry: Int? = Int(now) + 300,
        from start: Int = Int(now), digest: String? = nil, with secret: String = apiSecret, arrival: Double = now
    ) -> HookRequest {
        let exp = expiry.map { #""exp":\#($0),"# } ?? ""
        let claims = #"{\#(exp)"iss":"\#(issuer)","nbf":\#(start),"sha256":"\#(digest ?? Self.digest(body))"}"#
        let text = "\(Self.encoded(header.utf8)).\(Self.encoded(claims.utf8))"
        let code = HookSignature.hmac(.sha256, of: Array(text.utf8), key: HookSecret(secret))
        return request(body, token: "\(text).\(Self.encoded(code))", arrival: arrival)
    }

    private func request(_ body: String, token: String, arrival: Double = now) -> HookRequest {
        HookRequest(
            method: .post,
            headers: [
                .init(name: "content-type", value: "application/webhook+json"),
                .init(name: "authorization", value: token),
            ], body: Array(body.utf8), arrival: arrival)
    }

    private func accepts(_ request: HookRequest) -> Bool { hook.isAuthentic(request, secret: Self.secret) }

    private static func body(
        _ event: String, kind: String? = nil, track: String? = nil, room: String = "lobby", permission: String? = nil,
        at time: Int = Int(now), id: String = "EV_eugWmGhovZmm"
    ) -> String {
        #"{"event":"\#(event)","room":{"sid":"RM_hycBMAjmt6Ub","name":"\#(room)","emptyTimeout":300,"#
            + #""creationTime":"1769860790","turnPassword":"x","enabledCodecs":[{"mime":"video/H264"}]},"#
            + #""participant":{"sid":"PA_VtEdGLMxbzTp","identity":"alice","name":"Alice A.","state":"ACTIVE","#
            + #""joinedAt":"1769860799","version":2\#(kind.map { #","kind":"\#($0)""# } ?? "")"#
            + (permission.map { #","permission":\#($0)"# } ?? "") + "}"
            + (track.map { #","track":{"sid":"TR_AMbAvxLSYTiDLR"\#($0)}"# } ?? "")
            + #","id":"\#(id)","createdAt":"\#(time)"}"#
    }

    private func read(_ text: String, url: String? = nil) throws -> HookOutcome {
        try hook.outcome(of: HookExamples.json(text), reader: NginxRTMPHookTests.reader(url: url))
    }

    // MARK: The token

    @Test func aTokenThatSignsTheBodyIsBelieved() {
        let body = Self.body("participant_joined")
        #expect(accepts(signed(body)))
        #expect(accepts(signed(body, arrival: Self.now + 359)) && accepts(signed(body, arrival: Self.now - 59)))
    }

    @Test func forgedAndExpiredTokensAreRefused() {
        let body = Self.body("participant_joined")
        #expect(!accepts(signed(body, expiry: Int(Self.now) - 61)), "expired")
        #expect(!accepts(signed(body, expiry: nil)), "without an end")
        #expect(!accepts(signed(body, from: Int(Self.now) + 61)), "for later")
        #expect(!accepts(signed(body, issuer: "APIother")), "another key")
        #expect(!accepts(signed(body, issuer: "")))
        #expect(!accepts(signed(body, with: "another-secret-0123456789")))
        #expect(!accepts(signed(body, digest: Self.digest(body + " "))), "another body")
        #expect(!accepts(signed(body, digest: "")))
        for algorithm in ["none", "None", "HS512", "RS256", "hs256"] {
            #expect(!accepts(signed(body, header: #"{"alg":"\#(algorithm)","typ":"JWT"}"#)), "\(algorithm)")
        }
        var replayed = signed(body)
        replayed.body = Array(Self.body("room_finished").utf8)
        #expect(!accepts(replayed))
    }

    @Test func tokensWithoutASignatureAreRefused() throws {
        let body = Self.body("participant_joined")
        let token = try #require(signed(body).header("authorization"))
        let parts = token.split(separator: ".")
        let none = Self.encoded(#"{"alg":"none"}"#.utf8)
        let tokens = [
            "", ".", "..", "...", "\(parts[0]).\(parts[1]).", "\(none).\(parts[1]).", "\(none).\(parts[1])",
            "\(parts[0]).\(parts[1]).\(parts[2]).\(parts[2])", "Bearer \(token)", token + "A", String(token.dropLast()),
            "\(parts[1]).\(parts[0]).\(parts[2])", String(repeating: "a.", count: 5000),
        ]
        for token in tokens { #expect(!accepts(request(body, token: token)), "\(token.prefix(40))") }
        #expect(!accepts(HookExamples.json(body)))
    }

    @Test func theSecretIsAKeyAndItsSecret() {
        #expect(hook.form(neededBy: "\(Self.key):\(Self.apiSecret)") == nil)
        for secret in ["0123456789abcdef", ":\(Self.apiSecret)", "\(Self.key):short", Self.apiSecret] {
            #expect(hook.form(neededBy: secret) != nil)
            #expect(!hook.isAuthentic(signed(Self.body("x")), secret: HookSecret(secret)))
        }
    }

    // MARK: Events

    @Test func participantsComeAndGo() throws {
        let joined = try read(Self.body("participant_joined"))
        #expect(joined.words == ["lobby: participant.joined alice"] && joined.weight == .informative)
        #expect(joined.events.first?.kind == .participantJoined(user: "alice", role: nil, name: "Alice A."))
        #expect(joined.events.first?.id == "EV_eugWmGhovZmm" && joined.events.first?.time == Self.now)
        for event in ["participant_left", "participant_connection_aborted"] {
            #expect(try read(Self.body(event)).words == ["lobby: participant.left alice"])
        }
        #expect(try read(Self.body("room_started")).words == ["lobby: room.opened"])
        #expect(try read(Self.body("room_finished")).words == ["lobby: room.closed"])
    }

    @Test func whoIsNoPersonIsSkipped() throws {
        for kind in ["EGRESS", "AGENT"] {
            for event in ["participant_joined", "participant_left", "track_published"] {
                #expect(try read(Self.body(event, kind: kind), url: "rtmp://127.0.0.1/x/{name}").events.isEmpty)
            }
        }
        for kind in ["INGRESS", "SIP", "STANDARD", "SOMETHING_NEW"] {
            #expect(try read(Self.body("participant_joined", kind: kind)).words == ["lobby: participant.joined alice"])
        }
        // A viewer without permission to publish is not a participant.
        #expect(try read(Self.body("participant_joined", permission: #"{"canSubscribe":true}"#)).events.isEmpty)
        #expect(
            try read(Self.body("participant_joined", permission: #"{"canPublish":true,"hidden":true}"#)).events.isEmpty)
        #expect(!(try read(Self.body("participant_joined", permission: #"{"canPublish":true}"#)).events.isEmpty))
    }

    /// A track alone is not a URL to pull from.
    @Test func tracksAreStreamsOnlyWithAURL() throws {
        let camera = #","type":"VIDEO","source":"CAMERA","width":1280,"height":720"#
        let plain = try read(Self.body("track_published", track: camera))
        #expect(plain.words == ["lobby: participant.joined alice"] && plain.refusal == nil)
        #expect(try read(Self.body("track_unpublished", track: camera)).words.isEmpty)

        let url = "rtmp://127.0.0.1/live/{room}__{name}"
        let video = try read(Self.body("track_published", track: camera), url: url)
        #expect(
            video.words == [
                "lobby: participant.joined alice", "lobby: stream.published alice/camera",
                "lobby: stream.updated alice/camera",
            ])
        #expect(video.urls == ["rtmp://127.0.0.1/live/lobby__alice"])
        #expect(
            Set(video.events.map(\.id)).count == 3 && video.events.map(\.isForAbsentStream) == [false, true, false])
        #expect(video.events.last?.kind == .streamUpdated(StreamUpdate(user: "alice", video: true)))
        // The type AUDIO is 0, and therefore missing in the JSON.
        let audio = try read(Self.body("track_published", track: #","source":"MICROPHONE""#), url: url)
        #expect(audio.events.last?.kind == .streamUpdated(StreamUpdate(user: "alice", audio: true)))
        let muted = try read(Self.body("track_unpublished", track: camera), url: url)
        #expect(muted.events.map(\.kind) == [.streamUpdated(StreamUpdate(user: "alice", video: false))])
        let screen = #","type":"VIDEO","source":"SCREEN_SHARE""#
        #expect(
            try read(Self.body("track_published", track: screen), url: url).words.contains(
                "lobby: stream.published alice/screen"))
        #expect(
            try read(Self.body("track_unpublished", track: screen), url: url).words
                == ["lobby: stream.unpublished alice/screen"])
        #expect(try read(Self.body("track_published", track: #","type":"DATA""#), url: url).words.isEmpty)
    }

    @Test func aURLThatMayNotBePulledKeepsTheParticipant() throws {
        let outcome = try read(
            Self.body("track_published", track: #","type":"VIDEO""#), url: "rtmp://media.example/{name}")
        #expect(outcome.refusal?.code == .refusedURL && outcome.words == ["lobby: participant.joined alice"])
    }

    /// A participant who has left is not brought back by late events.
    @Test func theTimeDecides() throws {
        var sessions = PublisherSessions(run: "1")
        var room = Room(id: "lobby")
        func arrive(_ event: String, _ time: Int) throws {
            let outcome = try read(Self.body(event, at: time, id: "EV_\(event)\(time)"))
            for event in outcome.events {
                guard case .pass(let passed) = sessions.admit(event, of: "livekit", peer: "p", now: 0) else { continue }
                _ = RoomMachine.apply(passed, to: &room)
            }
        }
        try arrive("participant_left", 200)
        try arrive("participant_joined", 100)
        #expect(room.participants.isEmpty)
        try arrive("participant_joined", 300)
        try arrive("participant_left", 250)
        #expect(room.participants.map(\.user) == ["alice"])
        try arrive("participant_left", 300)
        #expect(room.participants.isEmpty)
    }

    @Test func namesThatAreNoneAreToldApart() throws {
        #expect(try read(Self.body("participant_joined", room: "my room")).unmatched?.contains("room") == true)
        let spaced = Self.body("participant_joined").replacing(#""identity":"alice""#, with: #""identity":"Alice / 1""#)
        #expect(
            try read(spaced).events.first?.kind == .participantJoined(user: "Alice / 1", role: nil, name: "Alice A."))
    }

    @Test func othersConcernNoRoom() throws {
        for event in ["egress_started", "egress_ended", "ingress_started", "something_new"] {
            #expect(try read(Self.body(event)) == .ignored("other"))
        }
        for text in [
            "", "[]", "{}", #"{"event":"participant_joined"}"#, #"{"event":"participant_joined","room":{"name":"a"}}"#,
        ] {
            #expect(throws: InputError.self) { try read(text) }
        }
    }
}
