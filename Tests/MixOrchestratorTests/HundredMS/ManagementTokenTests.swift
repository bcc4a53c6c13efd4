import Crypto
import EventSubscription
import MixModel
import Testing

@testable import HTTPInterface

/// Valid management tokens, and the faults of invalid ones.
@Suite struct ManagementTokenTests {
    /// A token made with Python's hmac, valid from 1769889590 to 1769976000.
    static let good =
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJhY2Nlc3Nfa2V5Ijoic2hvcC1rZXkiLCJ0eXBlIjoibWFuYWdlb"
        + "WVudCIsInZlcnNpb24iOjIsImp0aSI6IjhkNWE3YzBlLTNiMWYtNGE1Mi05ZjBlLTJiMGY1YTdjMWQxMSIsImlhdCI"
        + "6MTc2OTg4OTU5MCwibmJmIjoxNzY5ODg5NTkwLCJleHAiOjE3Njk5NzYwMDB9.Un6OjS1hzv_lK0nM8Hfs0NOBY830"
        + "8kYNMJxhEnzHCe0"

    static var keys: AccessKeys {
        var keys = AccessKeys()
        _ = keys.add(AccessKey(id: "shop-key", secret: "a-secret-of-the-shop's", app: "shop"))
        _ = keys.add(AccessKey(id: "sts-key", secret: "a-secret-of-the-shop's", securityToken: "sts", app: "shop"))
        return keys
    }

    static let noon = 1_769_900_000.0

    private func refusal(_ token: String, at now: Double = noon) -> String? {
        do throws(HMSFault) {
            _ = try ManagementToken.key(of: token, among: Self.keys, now: now)
            return nil
        } catch {
            #expect(error.status == .unauthorized && error.message == "Token validation error")
            return error.details.joined()
        }
    }

    @Test func aGoodTokenSaysWhoCalls() throws {
        #expect(try ManagementToken.key(of: Self.good, among: Self.keys, now: Self.noon).app == "shop")
    }

    @Test func clocksMayDifferALittle() {
        #expect(refusal(Self.good, at: 1_769_889_570) == nil)
        #expect(refusal(Self.good, at: 1_769_889_550)?.contains("not valid yet") == true)
        #expect(refusal(Self.good, at: 1_769_976_020) == nil)
        #expect(refusal(Self.good, at: 1_769_976_040)?.contains("expired") == true)
    }

    private static let claims = #""access_key":"shop-key","type":"management","version":2,"exp":1769976000"#

    @Test(arguments: [
        ("unknown key", claims.replacing("shop-key", with: "other"), "not found"),
        ("key with a token of its own", claims.replacing("shop-key", with: "sts-key"), "not found"),
        ("no key", claims.replacing("access_key", with: "key"), "not found"),
        ("token of an app", claims.replacing("management", with: "app"), "management"),
        ("version 1", claims.replacing(":2", with: ":1"), "version"),
        ("version as text", claims.replacing(":2", with: #":"2""#), "version"),
        ("no end", claims.replacing("exp", with: "end"), "exp"),
        ("end as text", claims.replacing("1769976000", with: #""1769976000""#), "exp"),
        ("odd beginning", claims + #","nbf":"now""#, "nbf"),
    ])
    func claimsAreChecked(name: String, claims: String, reason: String) {
        let words = refusal(HMSCaller.token("{\(claims)}"))
        #expect(words?.contains(reason) == true, "\(name): \(words ?? "accepted")")
    }

    @Test func onlyHS256IsTrusted() {
        #expect(refusal(HMSCaller.token("{\(Self.claims)}")) == nil)
        for head in [#"{"alg":"none"}"#, #"{"alg":"HS512"}"#, #"{"alg":"HS256","crit":["x"]}"#, "{}", "[]"] {
            #expect(refusal(HMSCaller.token("{\(Self.claims)}", head: head)) != nil, "\(head)")
        }
        let other = refusal(HMSCaller.token("{\(Self.claims)}", secret: "another-secret-of-ours"))
        #expect(other?.contains("not found") == true)
    }

    /// The refusal does not reveal whether a key exists.
    @Test func anUnknownKeyReadsAsAWrongSignature() throws {
        let words = Self.good.split(separator: ".")
        let forged = "\(words[0]).\(words[1]).\(String(words[2].reversed()))"
        let unknown = try #require(refusal(forged))
        #expect(unknown.contains("not found"))
    }

    @Test func anythingIsRefusedWithoutATrap() {
        var generator = SystemRandomNumberGenerator()
        let odd = [
            "", ".", "..", "...", "a.b", "e30.e30.", "e30.e30.e30", "\u{301}.\u{301}.\u{301}", "=.=.=", "+/.a.b",
        ]
        for text in odd { #expect(refusal(text) != nil, "\(text)") }
        #expect(refusal(String(repeating: "a", count: ManagementToken.longest + 1))?.contains("bytes") == true)
        #expect(refusal(String(repeating: ".", count: ManagementToken.longest)) != nil)
        for _ in 0..<2000 {
            var bytes = Array(Self.good.utf8)
            for _ in 0..<3 { bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0x20...0x7E) }
            let text = String(decoding: bytes, as: UTF8.self)
            // The last digit of a signature contains unused bits.
            if refusal(text) == nil { #expect(text.dropLast() == Self.good.dropLast()) }
        }
    }

    @Test func urlsOfFilesAreGoodForOneFileAndAWhile() {
        let key = SymmetricKey(data: Array("a-secret-of-the-shop's".utf8))
        let query = HMSFileURL.query(of: "a1", until: 1000, key)
        let signature = query.split(separator: "=").last.map(String.init)
        func isValid(_ expires: String?, _ signature: String?, _ asset: String = "a1", now: Double = 999) -> Bool {
            HMSFileURL.isValid(expires: expires, signature: signature, of: asset, key, now: now)
        }
        #expect(query.hasPrefix("expires=1000&signature=") && isValid("1000", signature))
        #expect(!isValid("1000", signature, now: 1001) && !isValid("1000", signature, "a2"))
        for expires in ["1001", "+1000", "01000", "", "1e3", "99999999999999999999"] {
            #expect(!isValid(expires, signature), "\(expires)")
        }
        for odd in [nil, "", "0f", String(repeating: "g", count: 64), String(repeating: "+1", count: 32)] {
            #expect(!isValid("1000", odd), "\(odd ?? "none")")
        }
        #expect(!isValid(nil, signature))
    }
}
