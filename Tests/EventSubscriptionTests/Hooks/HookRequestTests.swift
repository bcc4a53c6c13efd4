import Testing

@testable import EventSubscription

/// The contents of a request: forms, secrets, addresses and templates.
@Suite struct HookRequestTests {
    @Test func theFirstValueOfANameCounts() {
        let form = HookForm("name=a&x=1+2%203&name=b&flag&=none&%6E=1&name".utf8)
        #expect(form.first("name") == "a" && form.first("x") == "1 2 3" && form.first("flag") == "")
        #expect(form.first("n") == "1" && form.first("missing") == nil && form.first("") == "none")
    }

    @Test func brokenEncodingStaysOrIsNoText() {
        let form = HookForm("a=%4&b=%zz&c=%&d=%FF&e=%C3%A9&f=x%".utf8)
        #expect(form.first("a") == "%4" && form.first("b") == "%zz" && form.first("c") == "%")
        #expect(form.has("d") && form.first("d") == nil)
        #expect(form.first("e") == "é" && form.first("f") == "x%")
        #expect(!HookForm([0xFF, UInt8(ascii: "="), UInt8(ascii: "x")]).has("\u{FFFD}"))
        #expect(HookForm([UInt8]()).first("a") == nil)
    }

    @Test func megabytesAreReadOnce() {
        let many = String(repeating: "a=1&", count: 300_000)
        let form = HookForm(("call=publish&" + many + "name=late").utf8)
        #expect(form.first("call") == "publish" && form.first("name") == nil)
        let long = HookForm(("call=" + String(repeating: "%41", count: 400_000)).utf8)
        #expect(long.first("call")?.utf8.count == 400_000)
    }

    @Test func theTokenIsInThePathTheQueryOrTheHeader() {
        var request = HookRequest(method: .post, query: "x=1&token=q%2F1&token=second")
        #expect(request.token == "q/1")
        request.pathToken = "p"
        #expect(request.token == "p")
        request = HookRequest(method: .post, headers: [.init(name: "authorization", value: "bearer h")])
        #expect(request.token == "h")
        request.headers = [.init(name: "authorization", value: "Basic h")]
        #expect(request.token == nil)
        // The query that nginx sends with `notify_method get`: the secret has to be in the path.
        #expect(HookRequest(method: .get, query: "token=q?app=live&call=publish").token == "q?app=live")
    }

    @Test func secretsAreComparedWholeAndNeverShown() {
        let secret = HookSecret("hook-secret-0123456789")
        #expect(secret.matches("hook-secret-0123456789"))
        for wrong in ["", "hook-secret-012345678", "hook-secret-01234567890", "Hook-secret-0123456789"] {
            #expect(!secret.matches(wrong))
        }
        var dumped = ""
        dump(secret, to: &dumped)
        #expect("\(secret) \(String(reflecting: secret)) \(dumped)".contains("hook-secret") == false)
    }

    @Test func signaturesAreThoseOfTheStandards() {
        func hex(_ bytes: [UInt8]) -> String { bytes.map { String(UInt16($0) | 0x100, radix: 16).suffix(2) }.joined() }
        // Test case 2 of RFC 2202 and of RFC 4231.
        let bytes = Array("what do ya want for nothing?".utf8)
        #expect(
            hex(HookSignature.hmac(.sha1, of: bytes, key: HookSecret("Jefe")))
                == "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79")
        #expect(
            hex(HookSignature.hmac(.sha256, of: bytes, key: HookSecret("Jefe")))
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        #expect(HookSignature.areEqual([1, 2], [1, 2]) && !HookSignature.areEqual([1, 2], [1, 3]))
        #expect(!HookSignature.areEqual([1], [1, 2]) && HookSignature.areEqual([], []))
        // A difference in any single bit counts.
        let code = HookSignature.hmac(.sha256, of: bytes, key: HookSecret("Jefe"))
        for bit in 0..<code.count * 8 {
            var other = code
            other[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!HookSignature.areEqual(code, other) && HookSignature.areEqual(other, other))
        }
    }

    @Test func addressesAreLoopbackOrListed() throws {
        for peer in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "::FFFF:127.0.0.1"] {
            #expect(HookSources.loopback.allows(peer), "\(peer)")
        }
        for peer in ["10.0.0.1", "unknown", "", "::2", "::ffff:10.0.0.1", "1127.0.0.1"] {
            #expect(!HookSources.loopback.allows(peer), "\(peer)")
        }
        let listed = try HookSources(["10.0.0.7", "10.1.*", "2001:DB8:*"])
        for peer in ["10.0.0.7", "10.1.2.3", "2001:db8::1", "::ffff:10.0.0.7"] { #expect(listed.allows(peer)) }
        for peer in ["10.0.0.70", "127.0.0.1", "::1", "10.10.1.1"] { #expect(!listed.allows(peer), "\(peer)") }
        for bad in ["", "media.example", "10.0.0.0/8", "rtmp://10.0.0.1", String(repeating: "1", count: 65)] {
            #expect(throws: InputError.self, "\(bad)") { try HookSources([bad]) }
        }
    }

    @Test func templatesKnowTheirPlaceholders() throws {
        #expect(throws: Never.self) { try HookURLTemplate("rtmp://{vhost}/{app}/{name}?{tenant}{room}{user}{stream}") }
        let error = #expect(throws: InputError.self) { try HookURLTemplate("rtmp://h/{app}/{naem}") }
        #expect(error?.expected.contains("did you mean \"name\"?") == true)
        #expect(throws: InputError.self) { try HookURLTemplate("rtmp://h/{app") }
        #expect(throws: InputError.self) { try HookURLTemplate("rtmp://h/{}") }
    }
}
