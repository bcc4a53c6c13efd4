import EventSubscription
import MixModel
import Testing

@testable import RoomService

/// The code with which a worker of the service publishes.
@Suite struct IngestPublishingTests {
    private static let key = IngestStreamKey(
        StreamNames(room: RoomID(app: "shop", name: "späti"), user: "a b", stream: .screen))
    private static let rules = IngestRules(host: "127.0.0.1", port: 1935)
    private static let secret = String(repeating: "5", count: 64)

    private static func request(
        _ url: String, isPublish: Bool = true, address: String = "127.0.0.1"
    ) throws -> IngestRequest {
        let path = try #require(url.splitAtFirst("?"))
        let parts = path.head.split(separator: "/").dropFirst(2)
        return IngestRequest(
            request: 1, isPublish: isPublish, application: parts.dropLast().joined(separator: "/"),
            name: parts.last.map(String.init) ?? "", query: String(path.tail), address: address, session: "r-1")
    }

    private static func verdict(_ request: IngestRequest) -> IngestStreamKey.Publishing {
        IngestStreamKey.publishing(request, of: rules, secret: secret)
    }

    @Test func theURLProvesItsStreamOnly() throws {
        let url = Self.key.publishingURL(of: Self.rules, secret: Self.secret)
        #expect(url.hasPrefix("rtmp://127.0.0.1:1935/publish/shop/sp%C3%A4ti/a%20b/screen?proof="))
        #expect(try Self.verdict(Self.request(url)) == .proven(Self.key))
        // The point at which a client divides application and name does not matter.
        var other = try Self.request(url)
        (other.application, other.name) = ("publish/shop", "sp%C3%A4ti/a%20b/screen")
        #expect(Self.verdict(other) == .proven(Self.key))
        #expect(try Self.verdict(Self.request(url.replacing("/screen", with: "/camera"))) == .refused)
        #expect(try Self.verdict(Self.request(url.replacing("shop/", with: "other/"))) == .refused)
        #expect(try Self.verdict(Self.request(url + "0")) == .refused)
        #expect(try Self.verdict(Self.request(url, address: "192.0.2.1")) == .refused)
        #expect(try Self.verdict(Self.request(url, address: "::1")) == .proven(Self.key))
        #expect(try Self.verdict(Self.request(url, isPublish: false)) == .none)
    }

    /// A code for playing a stream does not allow publishing it, and vice versa.
    @Test func theCodesOfPlayersAndPublishersDiffer() throws {
        let play = try #require(Self.key.url(of: Self.rules, secret: Self.secret).splitAtFirst("=")).tail
        let publish = try #require(Self.key.publishingURL(of: Self.rules, secret: Self.secret).splitAtFirst("=")).tail
        #expect(play != publish && play.utf8.count == publish.utf8.count)
        let forged = Self.key.publishingURL(of: Self.rules, secret: Self.secret).replacing(publish, with: play)
        #expect(try Self.verdict(Self.request(forged)) == .refused)
    }

    /// Any publisher may use an application of this name.
    @Test func otherPublishersGoTheirWay() throws {
        for url in [
            "rtmp://h/publish/lobby__alice?token=x", "rtmp://h/publish/a/b/c?proof=1",
            "rtmp://h/live/lobby__alice?proof=1",
            "rtmp://h/publish/a/b/c/flute?proof=1",
        ] {
            #expect(try Self.verdict(Self.request(url)) == .none, "\(url)")
        }
    }
}
