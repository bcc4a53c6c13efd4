import Foundation
import LayoutEngine
import MixModel
import Testing

@testable import TextFormats

@Suite struct ReachTests {
    static func address(_ text: String) throws -> InternetAddress {
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &bytes) == 1 { return try #require(InternetAddress(Array(bytes[..<4]))) }
        try #require(inet_pton(AF_INET6, text, &bytes) == 1, "\(text)")
        return try #require(InternetAddress(bytes))
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("127.255.0.3", true), ("::1", true), ("::ffff:127.0.0.1", true), ("10.0.0.1", false),
        ("169.254.169.254", false), ("0.0.0.0", false), ("::ffff:10.0.0.1", false), ("64:ff9b::127.0.0.1", false),
        ("fe80::1", false), ("93.184.216.34", true),
    ])
    func loopbackIsLoopback(_ address: String, _ isAllowed: Bool) throws {
        let target = Reach.Target(scheme: "rtmp", host: "h", port: 1935)
        #expect(try Reach.loopback.allows(Self.address(address), of: target) == isAllowed)
    }

    @Test func placesAreOfASchemeAndAPort() throws {
        let reach = Reach(places: [
            Reach.Place(scheme: "rtmp", address: "10.0.*", port: 1935), Reach.Place(address: "fd00::7"),
            Reach.Place(address: "localhost"),
        ])
        func allows(_ address: String, _ scheme: String = "rtmp", _ host: String = "media", _ port: Int = 1935) throws
            -> Bool
        { reach.allows(try Self.address(address), of: Reach.Target(scheme: scheme, host: host, port: port)) }
        #expect(try allows("10.0.3.4") && allows("fd00::7", "rtmps") && allows("8.8.8.8"))
        #expect(try !allows("10.1.3.4") && !allows("10.0.3.4", "rtmps") && !allows("10.0.3.4", "rtmp", "media", 80))
        #expect(try allows("127.0.0.1", "rtmp", "LOCALHOST") && allows("::1", "rtmp", "localhost"))
        // Another name does not become `localhost` by pointing to loopback.
        #expect(try !allows("127.0.0.1") && !allows("10.9.0.1", "rtmp", "localhost"))
    }

    /// A place with a name allows URLs with this name, whatever address it resolves to, and allows no address.
    @Test func placesMayBeNamed() throws {
        let reach = Reach(places: [Reach.Place(scheme: "rtmp", address: "", port: 1935, name: "node-b.pods")])
        func allows(_ host: String, _ scheme: String = "rtmp", _ port: Int = 1935) throws -> Bool {
            reach.allows(try Self.address("10.0.3.4"), of: Reach.Target(scheme: scheme, host: host, port: port))
        }
        #expect(try allows("node-b.pods") && allows("Node-B.pods"))
        #expect(try !allows("10.0.3.4") && !allows("node-c.pods") && !allows("node-b.pods.example"))
        #expect(try !allows("node-b.pods", "http") && !allows("node-b.pods", "rtmp", 80))
        // Relays of earlier releases know no names.
        #expect(!Wildcard.matches("", "10.0.3.4"))
        let text = #"{"places":[{"address":"10.0.*"}]}"#
        #expect(try JSONDecoder().decode(Reach.self, from: Data(text.utf8)).places.first?.name == nil)
    }

    @Test func aRefusalSaysWhereAndWhatToDo() throws {
        let target = Reach.Target(scheme: "rtmp", host: "media.example", port: 1935)
        let words = Reach.refusal(target, at: try Self.address("fd00::7"), setting: "sources.allow")
        #expect(words.contains("media.example is at fd00::7") && words.contains("add rtmp://[fd00::7]:1935 there"))
    }

    /// Plans of versions without this field are read, and allow the same places as before.
    @Test func plansWithoutItAreRead() throws {
        let plan = ProgramPlan(
            revision: 1, task: "t", room: "r", sources: [], mode: .slate,
            scene: .init(canvas: .portrait, panes: []), outputs: [], sourceReach: .loopback, causedAt: 0, cause: "")
        let data = try JSONEncoder().encode(plan)
        #expect(try JSONDecoder().decode(ProgramPlan.self, from: data) == plan)
        let old = String(decoding: data, as: UTF8.self).replacing(#/"sourceReach":\{"places":\[[^\]]*\]\},?/#, with: "")
        #expect(try JSONDecoder().decode(ProgramPlan.self, from: Data(old.utf8)).sourceReach == nil)
    }

    @Test(arguments: [
        ("*", "", true), ("*", "abc", true), ("a*c", "abbc", true), ("a*c", "abb", false), ("*.b", "a.b", true),
        ("*.b", ".b", true), ("*.b", "b", false), ("a", "a", true), ("a", "ab", false), ("", "", true),
        ("*a*a*", "ba", false), ("*a*a*", "baba", true),
    ])
    func wildcardsStandForAnyCharacters(_ pattern: String, _ text: String, _ matches: Bool) {
        #expect(Wildcard.matches(pattern, text) == matches)
    }
}
