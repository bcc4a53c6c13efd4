import EncodedMedia
import HTTPTypes
import MixModel
import TestSupport
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator

@Suite struct TokenBucketTests {
    private static let second: Int64 = 1_000_000_000

    @Test func aBurstIsOneSecondOfTheRate() {
        var bucket = TokenBucket(rate: 3, now: 0)
        for _ in 0..<3 { #expect(bucket.take(1, at: 0) == nil) }
        let wait = bucket.take(1, at: 0)
        #expect(wait == 333_333_334)
        #expect(bucket.take(1, at: (wait ?? 0) - 1_000_000) != nil)
        #expect(bucket.take(1, at: wait ?? 0) == nil)
        #expect(bucket.isFull(at: 5 * Self.second))
    }

    @Test func moreThanABurstIsOwed() {
        var bucket = TokenBucket(rate: 10, now: 0)
        #expect(bucket.take(100, at: 0) == nil)
        // 90 tokens are owed, and the caller asks for one more.
        #expect(bucket.take(1, at: 0) == 91 * Self.second / 10)
        #expect(bucket.take(1, at: 91 * Self.second / 10) == nil)
    }

    /// No more requests pass in any period than the rate plus the burst, and a caller that waits as long as told is
    /// served.
    @Test func theRateHolds() {
        var random = SeededGenerator(announcedFor: "rate of a token bucket")
        for _ in 0..<200 {
            let rate = Double.random(in: 1...1000, using: &random)
            var bucket = TokenBucket(rate: rate, now: 0)
            var (now, taken): (Int64, Double) = (0, 0)
            for _ in 0..<200 {
                let count = Double.random(in: 0...rate, using: &random)
                if let wait = bucket.take(count, at: now) {
                    #expect(wait > 0)
                    now += wait
                    #expect(bucket.take(count, at: now) == nil)
                }
                taken += count
                #expect(taken <= rate * (1 + Double(now) / 1e9) * 1.000001 + 0.001)
                now += Int64.random(in: 0...10_000_000, using: &random)
            }
        }
    }

    @Test func aClockThatStandsStillGivesNothing() {
        var bucket = TokenBucket(rate: 1, now: 100)
        #expect(bucket.take(1, at: 100) == nil)
        #expect(bucket.take(1, at: 50) == Self.second)
    }
}

@Suite struct RateLimiterTests {
    @Test func keysDoNotShare() {
        let limiter = RateLimiter(rate: 1)
        #expect(limiter.take(by: .token(1), now: 0) == nil)
        #expect(limiter.take(by: .token(1), now: 0) == 1)
        #expect(limiter.take(by: .token(2), now: 0) == nil)
        #expect(limiter.take(by: .address("1"), now: 0) == nil)
        #expect(RateLimiter(rate: 0).take(1_000_000, by: .token(1), now: 0) == nil)
    }

    @Test func memoryIsBounded() {
        let limiter = RateLimiter(rate: 1)
        for number in 0..<25_000 { _ = limiter.take(by: .address("\(number)"), now: Int64(number)) }
        #expect(limiter.count <= RateLimiter.mostBuckets)
    }
}

@Suite struct AccessTokensTests {
    @Test func tokensAreFoundWhereverTheyStand() throws {
        var tokens = AccessTokens()
        #expect(tokens.isEmpty && tokens.caller(showing: "") == nil)
        for number in 0..<50 {
            let isNew = tokens.add("token-number-\(number)", app: AppID("app\(number)"), scopes: [.read])
            #expect(isNew)
        }
        let isNew = tokens.add("token-number-7", app: "other", scopes: [.read])
        #expect(!isNew)
        for number in 0..<50 {
            let caller = try #require(tokens.caller(showing: "token-number-\(number)"))
            #expect(caller.app.rawValue == "app\(number)" && caller.token == number)
        }
        for wrong in ["", "token-number-", "token-number-50", "Token-number-1", "token-number-1 "] {
            #expect(tokens.caller(showing: wrong) == nil)
        }
    }
}

@Suite struct BrowserGuardTests {
    @Test(
        arguments: [
            ("127.0.0.1:8080", true), ("localhost", true), ("LOCALHOST:1", true), ("[::1]:8080", true),
            ("127.8.9.1", true),
            (nil, true), ("", true), ("evil.example", false), ("evil.example:8080", false),
            ("127.0.0.1.evil.example", false),
            ("localhost.evil.example", false), ("10.0.0.1", false), ("[::2]:80", false), ("127.0.0.1@evil", false),
            ("0.0.0.0", false), ("127.1", false), ("127.0.0.256", false), ("[::1].evil.example", false),
        ] as [(String?, Bool)])
    func theHostHasToBeThisMachine(_ host: String?, _ isAllowed: Bool) {
        let request = HTTPRequest(method: .get, scheme: "http", authority: host, path: "/v1/rooms")
        if isAllowed {
            #expect(throws: Never.self) { try BrowserGuard.check(request) }
        } else {
            let error = #expect(throws: HTTPProblem.self) { try BrowserGuard.check(request) }
            #expect(error?.status.code == 421)
        }
    }

    @Test(arguments: [
        (HTTPRequest.Method.post, "Origin", "https://evil.example", false), (.post, "Origin", "null", false),
        (.delete, "Origin", "http://127.0.0.1.evil.example", false), (.put, "Origin", "http://localhost:3000", true),
        (.post, "Origin", "http://[::1]:8080", true), (.get, "Origin", "https://evil.example", true),
        (.post, "Sec-Fetch-Site", "cross-site", false), (.post, "Sec-Fetch-Site", "same-origin", true),
        (.patch, "Sec-Fetch-Site", "Cross-Site", false), (.get, "Sec-Fetch-Site", "cross-site", true),
    ])
    func pagesOfOtherPlacesChangeNothing(
        _ method: HTTPRequest.Method, _ header: String, _ value: String, _ isAllowed: Bool
    ) {
        let request = HTTPRequest(
            method: method, scheme: "http", authority: "127.0.0.1:8080", path: "/",
            headerFields: HTTPFieldsOf(header, value))
        if isAllowed {
            #expect(throws: Never.self) { try BrowserGuard.check(request) }
        } else {
            let error = #expect(throws: HTTPProblem.self) { try BrowserGuard.check(request) }
            #expect(error?.status == .forbidden)
            #expect(error?.field == header)
        }
    }
}
