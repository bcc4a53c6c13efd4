import Testing

@testable import HTTPInterface

/// Names of Socket.IO's clients, which are kept as long as their connections.
@Suite struct SocketIONameTests {
    @Test(arguments: ["x", "\u{E9}", "\u{1F600}"])
    func aNameTakesNoMoreThanIsNeededToRefuseIt(_ character: String) {
        // Channels refuse names of more than 256 bytes.
        let bytes = SocketIORoomHandler.kept(String(repeating: character, count: 100_000)).utf8.count
        #expect(257...260 ~= bytes)
        #expect(SocketIORoomHandler.kept(character) == character)
    }
}
