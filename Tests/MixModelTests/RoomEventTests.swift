import Testing

@testable import MixModel

/// What timelines say about events.
struct RoomEventTests {
    private static func account(_ reason: String?) -> String {
        RoomEvent(
            room: "demo", app: "default", source: "/pages", id: "1",
            kind: .streamUnpublished(user: "board", stream: .camera, reason: reason)
        ).account
    }

    @Test func theReasonOfAnEndIsPartOfTheAccount() {
        #expect(Self.account(nil) == "stream.unpublished board/camera")
        #expect(Self.account("") == "stream.unpublished board/camera")
        #expect(Self.account("the page has ended it") == "stream.unpublished board/camera: the page has ended it")
    }

    /// It comes from app servers, and from the text of browsers.
    @Test func aReasonIsShortAndWithoutSecrets() {
        let account = Self.account("see https://user:s3cret@a.example/b?key=s3cret\nand more")
        #expect(!account.contains("s3cret") && !account.contains("\n") && account.contains("and more"), "\(account)")
        #expect(Self.account(String(repeating: "é", count: 5000)).utf8.count < 500)
    }
}
