import Foundation
import Testing

@testable import EventSubscription
@testable import TextFormats

@Suite struct InternetAddressTests {
    private static func address(_ text: String) throws -> InternetAddress {
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &bytes) == 1 { return try #require(InternetAddress(Array(bytes[..<4]))) }
        try #require(inet_pton(AF_INET6, text, &bytes) == 1, "\(text)")
        return try #require(InternetAddress(bytes))
    }

    @Test(arguments: [
        ("8.8.8.8", true), ("100.63.255.255", true), ("100.64.0.1", false), ("100.127.255.255", false),
        ("100.128.0.0", true), ("10.1.2.3", false), ("127.0.0.1", false), ("169.254.169.254", false),
        ("172.15.0.1", true), ("172.16.0.1", false), ("172.31.9.9", false), ("172.32.0.0", true),
        ("192.168.0.1", false), ("192.0.2.1", false), ("198.19.0.1", false), ("0.0.0.0", false), ("224.0.0.1", false),
        ("255.255.255.255", false), ("2a00:1450::1", true), ("::1", false), ("::", false), ("fe80::1", false),
        ("fd00::1", false), ("ff02::1", false), ("2001:db8::1", false), ("::ffff:10.0.0.1", false),
        ("::ffff:8.8.8.8", true), ("64:ff9b::10.0.0.1", false), ("64:ff9b::8.8.8.8", true),
        ("2002:a00:1::1", false), ("2002:808:808::1", true), ("2001::1", false), ("::127.0.0.1", false),
    ])
    func localNetworksAreKnown(_ text: String, _ isPublic: Bool) throws {
        #expect(try Self.address(text).isPublic == isPublic)
    }

    @Test(arguments: [
        "8.8.8.8", "::1", "::", "fe80::1", "2001:db8::1:0:0:1", "1:2:3:4:5:6:7:8", "1:0:2::",
        "2a00:1450:4001:0:1:1:1:1",
    ])
    func textIsAsInRFC5952(_ text: String) throws { #expect(try Self.address(text).description == text) }

    @Test func aMappedAddressIsWrittenAsTheOneItIs() throws {
        #expect(try Self.address("::ffff:10.0.0.1").description == "10.0.0.1")
        #expect(InternetAddress([1, 2, 3]) == nil)
    }

    @Test(
        arguments: [
            ([], "http://localhost/a", "127.0.0.1", true), ([], "http://localhost/a", "10.0.0.1", false),
            (["https://img.example"], "https://img.example/a", "93.184.216.34", true),
            (["https://img.example"], "http://img.example/a", "93.184.216.34", false),
            // A name does not lead into the local network, unless the address is listed too.
            (["https://img.example"], "https://img.example/a", "10.0.0.1", false),
            (["https://*"], "https://img.example/a", "127.0.0.1", false),
            (["https://img.example", "https://10.0.*"], "https://img.example/a", "10.0.0.1", true),
            (["https://img.example", "https://10.0.*"], "https://img.example/a", "10.1.0.1", false),
            (["https://img.example", "https://[fd00::7]"], "https://img.example/a", "fd00::7", true),
            (["https://img.example", "https://[fd00::7]"], "https://img.example/a", "::ffff:10.0.0.1", false),
            (["https://10.0.*"], "https://other.example/a", "10.0.0.1", false),
        ] as [([String], String, String, Bool)])
    func namesDoNotLeadIntoTheLocalNetwork(
        _ entries: [String], _ url: String, _ address: String, _ allowed: Bool
    ) throws {
        let list = try AllowList(entries)
        #expect(list.allows(try StreamURL(url), at: try Self.address(address)) == allowed)
    }

    /// The rules for relays and the list itself agree about addresses.
    @Test(
        arguments: [
            ([], "127.0.0.1", true), ([], "::1", true), ([], "10.0.0.1", false),
            (["rtmp://media.example"], "127.0.0.1", false),
            (["rtmp://*"], "10.0.0.1", false), (["rtmp://media.example", "rtmp://10.0.*"], "10.0.0.1", true),
            (["rtmp://10.0.*:1936"], "10.0.0.1", false), (["https://10.0.*"], "10.0.0.1", false),
            (["*://10.0.0.1:*"], "10.0.0.1", true), (["rtmp://[fd00::7]:1935"], "fd00::7", true),
            (["rtmp://*"], "169.254.169.254", false), (["rtmp://*"], "8.8.8.8", true),
        ] as [([String], String, Bool)])
    func relaysAreToldWhatIsSpelt(_ entries: [String], _ address: String, _ allowed: Bool) throws {
        let target = Reach.Target(scheme: "rtmp", host: "media.example", port: 1935)
        #expect(try AllowList(entries).reach.allows(Self.address(address), of: target) == allowed)
    }
}
