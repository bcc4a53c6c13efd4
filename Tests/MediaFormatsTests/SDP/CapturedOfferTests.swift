import TestSupport
import Testing

/// Rules for the captured offers in `Tests/Support/Offers`.
struct CapturedOfferTests {
    @Test func theirOriginIsKnown() {
        #expect(Offers.readme.contains("# Offers of WebRTC clients"))
        for (name, _) in Offers.captured { #expect(Offers.readme.contains("| `\(name)` |"), "\(name)") }
    }

    /// Addresses are those of every machine. Candidates may also have mDNS names.
    @Test func theyNameNoNetwork() {
        for (name, text) in Offers.captured {
            let addresses = Set(text.matches(of: #/\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b/#).map { String($0.output) })
            #expect(addresses.subtracting(["127.0.0.1", "0.0.0.0"]) == [], "\(name)")
            let words = text.split(whereSeparator: \.isNewline).filter { line in
                ["o=", "c=", "a=rtcp:", "a=candidate:"].contains { line.hasPrefix($0) }
            }.flatMap { $0.split(separator: " ").dropFirst() }
            #expect(words.allSatisfy { !$0.contains(":") || ["::1", "::"].contains($0) }, "\(name)")
        }
    }
}
