import Testing

@testable import HTTPInterface

/// A nonce is accepted once, and remembered for as long as it could be sent again.
@Suite struct NonceCacheTests {
    @Test func aNonceIsTakenOnce() {
        let cache = NonceCache(start: 1000)
        #expect(cache.take("a", signedAt: 1000, now: 1000, window: 900) == .fresh)
        #expect(cache.take("a", signedAt: 1000, now: 1001, window: 900) == .used)
        // The same nonce with another time is another request, since the time is signed too.
        #expect(cache.take("a", signedAt: 1100, now: 1100, window: 900) == .fresh)
        #expect(cache.take("b", signedAt: 999, now: 1000, window: 900) == .tooOld(1000), "from before the start")
        #expect(cache.count == 2)
        #expect(cache.take("c", signedAt: 3000, now: 3000, window: 900) == .fresh)
        #expect(cache.count == 1, "what nobody can send again is forgotten")
    }

    @Test func noncesAreFoundByTheirBytes() {
        let cache = NonceCache(start: 1000)
        #expect(cache.take("cafe\u{301}", signedAt: 1000, now: 1000, window: 900) == .fresh)
        #expect(cache.contains("cafe\u{301}"))
        #expect(!cache.contains("caf\u{e9}"), "the other spelling is another nonce")
    }

    @Test func whatDoesNotFitIsRefusedRatherThanForgotten() {
        let cache = NonceCache(limit: 100, start: 0)
        var taken: [(String, Double)] = []
        for number in 0..<1000 {
            let time = 800 + Double(number)
            #expect(cache.take("n\(number)", signedAt: time, now: time, window: 900) == .fresh)
            taken.append(("n\(number)", time))
            #expect(cache.count <= 100)
        }
        for (nonce, time) in taken {
            #expect(cache.take(nonce, signedAt: time, now: 1800, window: 900) != .fresh, "\(nonce)")
        }
        // If there are too many nonces of one time, new ones are refused and known ones stay.
        let crowd = NonceCache(limit: 10, start: 0)
        let outcomes = (0..<20).map { crowd.take("\($0)", signedAt: 800, now: 800, window: 900) }
        #expect(outcomes.prefix(10).allSatisfy { $0 == .fresh })
        #expect(outcomes.suffix(10).allSatisfy { if case .tooOld = $0 { true } else { false } })
        #expect((0..<10).allSatisfy { crowd.take("\($0)", signedAt: 800, now: 800, window: 900) == .used })
        #expect(crowd.take("later", signedAt: 900, now: 900, window: 900) == .fresh)
    }
}
