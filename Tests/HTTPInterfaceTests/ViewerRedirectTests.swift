import HTTPTypes
import Hummingbird
import NIOCore
import TaskStore
import Testing

@testable import HTTPInterface

/// Which viewers are sent to the node that has the room, and where.
@Suite struct ViewerRedirectTests {
    private static let node = NodeProfile(
        name: "b", url: "http://10.0.0.2:8080", key: "k", publicURL: "https://b.mix.example")

    private func answer(
        _ path: String, method: HTTPRequest.Method = .get, _ headers: HTTPFields = [:],
        at node: NodeProfile = Self.node, origins: PlaybackOrigins = .none
    ) -> Response? {
        let request = Request(
            head: HTTPRequest(
                method: method, scheme: "http", authority: "a.mix.example", path: path, headerFields: headers),
            body: RequestBody(buffer: ByteBuffer()))
        return ViewerRedirect(origins: origins).answer(to: request, at: node)
    }

    /// The query stays, with the signature, which is one of the path.
    @Test(arguments: [
        ("/live/demo.flv", "/live/demo.flv?redirected=1"),
        ("/live/shop/demo.flv?task=x&auth_key=1-0-0-ab", "/live/shop/demo.flv?task=x&auth_key=1-0-0-ab&redirected=1"),
        ("/live/demo/index.m3u8", "/live/demo/index.m3u8?redirected=1"),
        ("/live/demo/hls/17/video-1.ts?auth_key=1", "/live/demo/hls/17/video-1.ts?auth_key=1&redirected=1"),
    ])
    func viewersGoToTheSamePath(_ path: String, _ target: String) throws {
        for method in [HTTPRequest.Method.get, .head] {
            let response = try #require(answer(path, method: method))
            #expect(response.status == .temporaryRedirect)
            #expect(response.headers[.location] == "https://b.mix.example" + target)
            #expect(response.headers[.cacheControl] == "no-store")
        }
    }

    /// A request is redirected once. Addresses that are not those of programs are never the target.
    @Test(arguments: [
        "/live/demo.flv?redirected=1", "/live/demo.flv?task=x&redirected=1",
        "/v1/rooms/demo", "/whep/demo", "http://evil.example/live/demo.flv", ".evil.example/live/demo.flv",
        "/live/demo.flv#x",
    ])
    func otherRequestsArePassedOn(_ path: String) {
        #expect(answer(path) == nil)
    }

    @Test func aNodeWithoutAnAddressForViewersIsAskedForThem() {
        #expect(answer("/live/demo.flv", at: NodeProfile(name: "b", url: "http://b", key: "k")) == nil)
        #expect(answer("/live/demo.whep", method: .post) == nil)
    }

    /// A node that does not know yet that this one was started again sends its earlier key, and follows no redirect.
    @Test func requestsOfNodesArePassedOn() {
        let headers: HTTPFields = [NodeHeader.key: "the key of an earlier life"]
        #expect(answer("/live/demo.flv", headers) == nil)
    }

    /// Browsers are redirected where they can follow: not for the service's own pages, and for others if every page may play.
    @Test func browsersAreRedirectedIfTheyCanFollow() throws {
        let browser: HTTPFields = [.userAgent: "Mozilla/5.0 (X11; Linux x86_64)"]
        #expect(answer("/live/demo.flv", browser) == nil)
        #expect(answer("/live/demo.flv", browser, origins: .any) == nil)
        #expect(answer("/live/demo.flv", [.userAgent: "Lavf/59.27.100"]) != nil)
        let page: HTTPFields = [.userAgent: "Mozilla/5.0", .origin: "https://player.example"]
        #expect(answer("/live/demo.flv", page) == nil)
        #expect(answer("/live/demo.flv", page, origins: .only(["https://player.example"])) == nil)
        let response = try #require(answer("/live/demo.flv", page, origins: .any))
        #expect(response.headers[.accessControlAllowOrigin] == "*")
        let framed: HTTPFields = [.userAgent: "Mozilla/5.0", .origin: "null"]
        #expect(answer("/live/demo.flv", framed, origins: .any) == nil, "it may be a page of the service in a sandbox")
    }
}
