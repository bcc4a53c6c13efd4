import Foundation
import RTMP
import Synchronization
import TestSupport
import Testing
import TextFormats

@testable import PageCapture

/// Requests of pages that reach the proxy, without a network.
struct ProxyTests {
    private static func read(_ text: String) -> ProxyRequest.Reading { ProxyRequest.read(Array(text.utf8)) }

    private static func request(_ text: String) -> ProxyRequest? {
        if case .request(let request) = read(text) { request } else { nil }
    }

    @Test func tunnelsAreRead() throws {
        let request = try #require(Self.request("CONNECT A.example:443 HTTP/1.1\r\nHost: x\r\n\r\nrest"))
        #expect(request.isTunnel && request.host == "a.example" && request.port == 443)
        #expect(request.length == "CONNECT A.example:443 HTTP/1.1\r\nHost: x\r\n\r\n".utf8.count)
        #expect(Self.request("CONNECT [::1]:8443 HTTP/1.1\r\n\r\n")?.host == "::1")
    }

    @Test func plainRequestsBecomeThoseOfAServer() throws {
        let request = try #require(
            Self.request(
                "GET http://a.example/b?c=1 HTTP/1.1\r\nHost: a.example\r\nProxy-Connection: keep-alive\r\nX: y\r\n\r\n"
            ))
        #expect(request.host == "a.example" && request.port == 80 && !request.isTunnel)
        #expect(
            String(decoding: request.head, as: UTF8.self)
                == "GET /b?c=1 HTTP/1.1\r\nHost: a.example\r\nX: y\r\nConnection: close\r\n\r\n")
        #expect(Self.request("GET http://a.example:81 HTTP/1.1\r\n\r\n")?.port == 81)
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\n\r\n", "GET https://a/ HTTP/1.1\r\n\r\n", "CONNECT a.example HTTP/1.1\r\n\r\n",
        "CONNECT :443 HTTP/1.1\r\n\r\n", "CONNECT a:0 HTTP/1.1\r\n\r\n", "CONNECT a:65536 HTTP/1.1\r\n\r\n",
        "CONNECT a:44x HTTP/1.1\r\n\r\n", "CONNECT a@b:443 HTTP/1.1\r\n\r\n", "CONNECT [::1:443 HTTP/1.1\r\n\r\n",
        "connect a:443 HTTP/1.1\r\n\r\n", "GET file:///etc/passwd HTTP/1.1\r\n\r\n", "\r\n\r\n", "A B\r\n\r\n",
        "GET http://a/ HTTP/2\r\n\r\n", "GET http://a /x HTTP/1.1\r\n\r\n", "GET http://\u{E9}/ HTTP/1.1\r\n\r\n",
    ]) func otherRequestsAreNone(_ text: String) { #expect(Self.read(text) == .malformed) }

    @Test func headsAreBounded() {
        #expect(Self.read("GET http://a/ HTTP/1.1\r\nX: ") == .incomplete)
        #expect(
            Self.read("GET http://a/ HTTP/1.1\r\nX: " + String(repeating: "y", count: ProxyRequest.longest))
                == .malformed)
        #expect(ProxyRequest.read([0xFF, 0xFE, 13, 10, 13, 10]) == .malformed)
    }

    /// Bytes of any kind, with a seed.
    @Test func anyBytesAreSurvived() {
        var random = SystemRandomNumberGenerator()
        let words = [
            "GET ", "CONNECT ", "http://", "[", "]", ":", "/", " ", "HTTP/1.1", "\r\n", "\r\n\r\n", "a", "é", "\0",
        ]
        for _ in 0..<5000 {
            let text = (0..<Int.random(in: 0...12, using: &random)).map { _ in words.randomElement(using: &random) ?? ""
            }
            _ = Self.read(text.joined())
        }
    }

    // MARK: - Rules

    private static func address(_ text: String) throws -> InternetAddress { try #require(InternetAddress(text: text)) }

    private static func verdict(
        _ host: String, _ port: Int, _ addresses: [String], _ places: [Reach.Place] = [],
        only hosts: [HostList.Entry]? = nil, isTunnel: Bool = true
    ) throws -> String? {
        let request = ProxyRequest(isTunnel: isTunnel, host: host, port: port, head: [], length: 0)
        let rules = ProxyRules(reach: Reach(places: places), hosts: hosts.map { HostList(entries: $0) })
        let found = try rules.address(of: request, among: addresses.map { try address($0) })
        // What has no allowed host has no allowed address.
        #expect(rules.allowsHost(of: request) || found == nil)
        return found.map { "\($0)" }
    }

    @Test(arguments: [
        "127.0.0.1", "127.8.8.8", "::1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "fe80::1",
        "fd00::1",
        "0.0.0.0", "100.64.0.1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "224.0.0.1", "255.255.255.255",
    ]) func addressesOfLocalNetworksAreRefused(_ address: String) throws {
        #expect(try Self.verdict("name.example", 443, [address]) == nil)
    }

    @Test func theAddressThatWasCheckedIsTheOneThatIsConnectedTo() throws {
        #expect(try Self.verdict("a.example", 443, ["93.184.216.34"]) == "93.184.216.34")
        #expect(try Self.verdict("rebinding.example", 443, ["127.0.0.1", "93.184.216.34"]) == "93.184.216.34")
        #expect(try Self.verdict("a.example", 443, []) == nil)
    }

    @Test func listedPlacesAreAllowed() throws {
        let places = [Reach.Place(scheme: "http", address: "127.0.0.1", port: 8000)]
        #expect(try Self.verdict("127.0.0.1", 8000, ["127.0.0.1"], places) != nil)
        #expect(try Self.verdict("127.0.0.1", 8000, ["127.0.0.1"], places, isTunnel: false) != nil)
        #expect(try Self.verdict("127.0.0.1", 8001, ["127.0.0.1"], places) == nil)
        let secure = [Reach.Place(scheme: "https", address: "10.0.*")]
        #expect(try Self.verdict("a", 443, ["10.0.0.9"], secure) != nil)
        #expect(try Self.verdict("a", 80, ["10.0.0.9"], secure, isTunnel: false) == nil, "not without TLS")
        #expect(try Self.verdict("a", 443, ["10.1.0.9"], secure) == nil)
    }

    @Test func ofListedHostsOnlyThoseAreAllowed() throws {
        let address = "93.184.216.34"
        let hosts = [
            HostList.Entry(scheme: "https", host: "*.a.example"), HostList.Entry(scheme: "http", host: "b.example"),
            HostList.Entry(host: "c.example", port: 8443),
        ]
        #expect(try Self.verdict("x.a.example", 443, [address], only: hosts) == address)
        #expect(try Self.verdict("x.a.example", 80, [address], only: hosts, isTunnel: false) == nil, "not without TLS")
        #expect(try Self.verdict("b.example", 80, [address], only: hosts, isTunnel: false) == address)
        // A tunnel to it may be that of a WebSocket without TLS.
        #expect(try Self.verdict("b.example", 80, [address], only: hosts) == address)
        #expect(try Self.verdict("c.example", 8443, [address], only: hosts) == address)
        for (host, port) in [("c.example", 443), ("a.example", 443), ("other.example", 443), (address, 443)] {
            #expect(try Self.verdict(host, port, [address], only: hosts) == nil, "\(host):\(port)")
        }
        // A listed host leads to no local network, and a listed local address to no other host.
        #expect(try Self.verdict("x.a.example", 443, ["127.0.0.1", address], only: hosts) == address)
        let places = [Reach.Place(address: "10.0.0.7")]
        #expect(try Self.verdict("other.example", 443, ["10.0.0.7"], places, only: hosts) == nil)
        #expect(try Self.verdict("x.a.example", 443, ["10.0.0.7"], places, only: hosts) == "10.0.0.7")
        #expect(try Self.verdict("x.a.example", 443, [address], only: []) == nil)
    }

    // MARK: - Connections

    /// Sends a request through a proxy and returns the answer's beginning.
    private static func answer(_ host: String, _ port: Int, by proxy: FilteringProxy) async throws -> String {
        let client = try PlainClient(port: proxy.port)
        client.send("GET http://\(host):\(port)/ HTTP/1.1\r\nHost: \(host)\r\n\r\n".utf8)
        let text = Mutex("")
        _ = try await outputEventually {
            text.withLock { text in
                text += client.receive()
                return text.contains("hello") || text.contains("<!-- ")
            }
        }
        return text.withLock { $0 }
    }

    @Test func addressesOfBothFamiliesAreTriedByTurns() throws {
        let six = try (1...5).flatMap { try SocketAddress.resolve(host: "::\($0)", port: 80, isNumeric: true) }
        let four = try SocketAddress.resolve(host: "127.0.0.1", port: 80, isNumeric: true)
        try #require(six.count == 5 && four.count == 1)
        let families = FilteringProxy.alternating(six + four).map(\.family)
        #expect(families == [AF_INET6, AF_INET, AF_INET6, AF_INET6, AF_INET6, AF_INET6])
        #expect(FilteringProxy.alternating([]).isEmpty)
    }

    @Test func theNextAddressOfAHostIsTried() throws {
        let server = try PageServer(["/": "hello"])
        defer { server.stop() }
        let gone = try PageServer()
        gone.stop()
        func address(_ port: Int) throws -> SocketAddress {
            let found = try SocketAddress.resolve(host: "127.0.0.1", port: UInt16(port), isNumeric: true)
            return try #require(found.first)
        }
        // The port stays taken, but nobody listens there any more.
        let (first, second) = (try address(gone.port), try address(server.port))
        #expect(FilteringProxy.connect(to: [first]) == nil)
        let connection = FilteringProxy.connect(to: [first, second])
        #expect(connection != nil)
        if let connection { close(connection) }
        #expect(FilteringProxy.connect(to: []) == nil)
    }

    /// The browser is told whether the proxy or the server has answered.
    @Test func whatTheProxyAnswersIsMarked() async throws {
        let gone = try PageServer()
        gone.stop()
        let reach = Reach(places: [Reach.Place(scheme: "http", address: "127.0.0.1", port: gone.port)])
        let proxy = try FilteringProxy(ProxyRules(reach: reach)) { _, _ in }
        defer { proxy.stop() }
        let unreachable = try await Self.answer("127.0.0.1", gone.port, by: proxy)
        #expect(unreachable.contains("502 Bad Gateway") && unreachable.contains("x-mixorchestrator-proxy: unreachable"))
        let refused = try await Self.answer("127.0.0.1", gone.port - 1, by: proxy)
        #expect(refused.contains("403 Forbidden") && refused.contains("x-mixorchestrator-proxy: refused"))
    }

    @Test func aProxyRefusesWhatItsRulesDoNotAllow() async throws {
        let server = try PageServer(["/": "hello"])
        defer { server.stop() }
        let refused = Mutex<[String]>([])
        let reach = Reach(places: [Reach.Place(scheme: "http", address: "127.0.0.1", port: server.port)])
        let own = HostList(entries: [HostList.Entry(scheme: "http", host: "127.0.0.1", port: server.port)])
        let proxy = try FilteringProxy(ProxyRules(reach: reach, hosts: own)) { place, refusal in
            refused.withLock { $0.append("\(place) \(refusal)") }
        }
        defer { proxy.stop() }
        #expect(try await Self.answer("127.0.0.1", server.port, by: proxy).contains("hello"))
        #expect(try await Self.answer("localhost", server.port, by: proxy).contains("403 Forbidden"))
        // This name cannot be resolved: it is not even looked up.
        #expect(try await Self.answer("nowhere.invalid", 80, by: proxy).contains("403 Forbidden"))
        proxy.rule(by: ProxyRules(reach: reach))
        #expect(try await Self.answer("localhost", server.port, by: proxy).contains("hello"))
        #expect(try await Self.answer("127.0.0.1", server.port - 1, by: proxy).contains("403 Forbidden"))
        let told = refused.withLock { $0 }
        #expect(
            told == [
                "localhost:\(server.port) host", "nowhere.invalid:80 host", "127.0.0.1:\(server.port - 1) address",
            ])
    }
}
