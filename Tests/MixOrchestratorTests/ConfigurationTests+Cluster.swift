import Testing

@testable import MixOrchestrator
@testable import RoomService

extension ConfigurationTests {
    private static func node(_ more: String) -> String {
        "store: { url: \"postgresql://mix@db/mix\" }\nnode: { url: \"http://10.0.0.1:8080\"\(more) }"
    }

    /// Viewers are sent to another node only if it is set, and only if this node has an address for them, too.
    @Test func viewersMayBeSentToTheOtherNode() throws {
        let plain = try #require(try configuration(Self.node("")).node)
        #expect(plain.viewers == .proxy && plain.publicURL == nil)
        let named = try #require(try configuration(Self.node(", publicURL: \"https://a.mix.example/\"")).node)
        #expect(named.viewers == .proxy && named.publicURL == "https://a.mix.example")
        let sent = try #require(
            try configuration(Self.node(", publicURL: \"https://a.mix.example:8443\", viewers: redirect")).node)
        #expect(sent.viewers == .redirect && sent.publicURL == "https://a.mix.example:8443")
    }

    @Test(arguments: [
        (", viewers: redirect", "node.viewers: found redirect without node.publicURL"),
        (", publicURL: \"a.mix.example\"", "node.publicURL: expected an address"),
        (", publicURL: \"https://a.mix.example/below\"", "node.publicURL: expected an address"),
        (", publicURL: \"https://a.mix.example/?x=1\"", "node.publicURL: expected an address"),
    ])
    func anAddressForViewersIsThatOfAHost(_ setting: String, _ expected: String) {
        let error = #expect(throws: StartupError.self) { try configuration(Self.node(setting)) }
        #expect(error?.description.contains(expected) == true, "\(error?.description ?? "")")
    }
}
