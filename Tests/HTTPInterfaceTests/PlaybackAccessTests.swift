import TestSupport
import Testing

@testable import HTTPInterface
@testable import RoomService

struct PlaybackAccessTests {
    let access = PlaybackAccess(keys: ["aliyuncdnexp1234", "the-second-key-of-two"], validity: 0)

    /// The example of type A in ApsaraVideo Live's documentation.
    @Test func signsAsApsaraVideoDoes() throws {
        let value = PlaybackAccess.authKey(
            path: "/video/standard/test.mp4", time: 1_444_435_200, key: "aliyuncdnexp1234")
        #expect(value == "1444435200-0-0-23bf85053008f5c0e791667a313e28ce")
        try access.check(path: "/video/standard/test.mp4", authKey: value, now: 1_444_435_200)
        try access.check(path: "/video/standard/test.mp4", authKey: value.uppercased(), now: 0)
    }

    @Test func withoutKeysEverybodyIsLetIn() throws {
        let open = PlaybackAccess()
        #expect(open.isOpen)
        try open.check(path: "/live/demo.flv", authKey: nil, now: 0)
        #expect(open.authKey(path: "/live/demo.flv", time: 1) == nil)
    }

    @Test func aURLIsGoodUntilItsTimeAndTheValidityBeyond() throws {
        let path = "/live/shop/demo.flv"
        let lasting = PlaybackAccess(keys: ["aliyuncdnexp1234"], validity: 1800)
        let value = try #require(access.authKey(path: path, time: 1000, random: "477b", uid: "viewer7"))
        try access.check(path: path, authKey: value, now: 1000)
        #expect(throws: PlaybackAccess.Refusal.expired(seconds: 1)) {
            try access.check(path: path, authKey: value, now: 1001)
        }
        try lasting.check(path: path, authKey: value, now: 2800)
        #expect(throws: PlaybackAccess.Refusal.expired(seconds: 3)) {
            try lasting.check(path: path, authKey: value, now: 2803)
        }
    }

    @Test func bothKeysAndBothSpellingsOfAPathAreGood() throws {
        let second = PlaybackAccess.authKey(path: "/live/demo.flv", time: 9, key: "the-second-key-of-two")
        try access.check(path: "/live/demo.flv", authKey: second, now: 9)
        let decoded = PlaybackAccess.authKey(path: "/live/a b.flv", time: 9, key: "aliyuncdnexp1234")
        let encoded = PlaybackAccess.authKey(path: "/live/a%20b.flv", time: 9, key: "aliyuncdnexp1234")
        try access.check(path: "/live/a%20b.flv", authKey: decoded, now: 9)
        try access.check(path: "/live/a%20b.flv", authKey: encoded, now: 9)
    }

    @Test(
        arguments: [
            (nil, PlaybackAccess.Refusal.missing), ("", .missing), ("1-0-0", .malformed),
            ("x-0-0-" + nothing, .malformed),
            ("1-0-0-" + nothing.dropLast(), .malformed), ("1-0-0-0-" + nothing, .malformed),
            ("1--0-" + nothing, .malformed),
            ("+1-0-0-" + nothing, .malformed), ("1234567890123-0-0-" + nothing, .malformed),
            ("1-" + String(repeating: "a", count: 129) + "-0-" + nothing, .malformed), ("1-0-0-" + nothing, .wrong),
            ("1-0-0-zz" + nothing.dropFirst(2), .malformed),
        ] as [(String?, PlaybackAccess.Refusal)])
    func whatIsNotSignedIsRefused(_ value: String?, _ refusal: PlaybackAccess.Refusal) {
        #expect(throws: refusal) { try access.check(path: "/live/demo.flv", authKey: value, now: 0) }
    }

    /// A valid value is refused after any change of it, or of the request that it was made for.
    @Test func noOtherValueOpens() throws {
        var random = SeededGenerator(seed: 24)
        let path = "/live/demo.flv"
        let value = try #require(access.authKey(path: path, time: 2_000_000_000, random: "abc", uid: "u"))
        let letters = Array("0123456789abcdefABCDEF-_.%~")
        for _ in 0..<2000 {
            var characters = Array(value)
            let index = Int.random(in: 0..<characters.count, using: &random)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: characters[index] = letters.randomElement(using: &random) ?? "0"
            case 1: characters.remove(at: index)
            default: characters.insert(letters.randomElement(using: &random) ?? "0", at: index)
            }
            let changed = String(characters)
            guard changed.lowercased() != value.lowercased() else { continue }
            #expect(throws: PlaybackAccess.Refusal.self, "\(changed), seed 24") {
                try access.check(path: path, authKey: changed, now: 0)
            }
        }
        for other in ["/live/demo.flv/", "/live/demo", "/live/shop/demo.flv", "/live/Demo.flv"] {
            #expect(throws: PlaybackAccess.Refusal.wrong) { try access.check(path: other, authKey: value, now: 0) }
        }
    }

    private static let nothing = String(repeating: "0", count: 32)
}

struct PlaybackOriginsTests {
    @Test func pagesAreToldWhetherTheyMay() throws {
        #expect(PlaybackOrigins.any.headers(origin: "https://a.example")[.accessControlAllowOrigin] == "*")
        let some = try PlaybackOrigins(["https://a.example", "http://b.example:8080"])
        #expect(some.headers(origin: "https://A.example")[.accessControlAllowOrigin] == "https://A.example")
        #expect(some.headers(origin: "https://c.example")[.accessControlAllowOrigin] == nil)
        #expect(some.headers(origin: nil)[.vary] == "Origin")
        #expect(some.preflight(origin: "http://b.example:8080")[.accessControlAllowMethods] == "GET, HEAD, OPTIONS")
    }

    @Test(arguments: ["a.example", "https://a.example/", "ftp://a", "https://*.example", "https://", "null"])
    func whatIsNoOriginIsNamed(_ origin: String) {
        let error = #expect(throws: StartupError.self) { try PlaybackOrigins([origin]) }
        #expect(error?.description.contains("playback.cors: found \"\(origin)\"") == true)
    }
}
