import Foundation
import MixModel
import Synchronization
import TestSupport
import Testing
import EncodedMedia

@testable import ProgramRelay
@testable import RTMP
@testable import TextFormats

/// Names are resolved by a resolver of the test, addresses are real.
@Suite struct DestinationTests {
    private static func addresses(_ texts: [String], _ port: UInt16) -> [SocketAddress] {
        texts.flatMap { (try? SocketAddress.resolve(host: $0, port: port, isNumeric: true)) ?? [] }
    }

    /// Creates a destination for which each look-up of the name gives the next element of `answers`; the last one
    /// repeats.
    private static func destination(
        _ reach: Reach?, host: String = "media.example", port: UInt16 = 1935, answers: [[String]]
    ) -> Destination {
        let count = Mutex(0)
        return Destination(
            scheme: "rtmp", host: host, port: port, limits: reach.map { .init(reach: $0, setting: "sources.allow") }
        ) { host, port, isNumeric throws(SocketAddress.Unresolved) in
            if isNumeric { return try SocketAddress.resolve(host: host, port: port, isNumeric: true) }
            let index = count.withLock { count in
                defer { count += 1 }
                return min(count, answers.count - 1)
            }
            return addresses(answers[index], port)
        }
    }
    private static let publicOnly = Reach(places: [])

    @Test(arguments: [
        "127.0.0.1", "169.254.169.254", "10.1.2.3", "192.168.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::1",
        "fe80::1",
        "fd00::1", "0.0.0.0", "::", "64:ff9b::a00:1",
    ])
    func aNameDoesNotLeadIntoALocalNetwork(_ address: String) {
        let destination = Self.destination(Self.publicOnly, answers: [[address]])
        let error = #expect(throws: Destination.Unreachable.self) { try destination.addresses() }
        #expect(error?.description.contains("media.example is at") == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("sources.allow") == true)
    }

    @Test(arguments: ["127.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1"])
    func norDoesAnAddress(_ address: String) {
        let destination = Self.destination(Self.publicOnly, host: address, answers: [[]])
        #expect(throws: Destination.Unreachable.self) { try destination.numericAddresses() }
    }

    @Test func ofMixedAnswersTheAllowedOnesAreLeft() throws {
        let mixed = ["10.0.0.1", "93.184.216.34", "::1", "2a00:1450::1", "127.0.0.1"]
        let found = try Self.destination(Self.publicOnly, answers: [mixed]).addresses()
        #expect(found.compactMap { $0.internet.map { "\($0)" } } == ["93.184.216.34", "2a00:1450::1"])
        let local = Reach(places: [Reach.Place(address: "10.0.*")])
        #expect(try Self.destination(local, answers: [mixed]).addresses().count == 3)
        #expect(try Self.destination(nil, answers: [mixed]).addresses().count == 5)
    }

    /// Each look-up is checked: the name resolves to a public address at the first one, and to this machine at the
    /// next.
    @Test func everyLookUpIsCheckedAnew() throws {
        let destination = Self.destination(Self.publicOnly, answers: [["93.184.216.34"], ["127.0.0.1"]])
        #expect(try destination.addresses().count == 1)
        #expect(throws: Destination.Unreachable.self) { try destination.addresses() }
    }

    @Test func aConnectionIsMadeToCheckedAddressesOnly() async throws {
        let server = try RTMPOddServer(saying: [7])
        defer { server.stop() }
        let port = UInt16(server.port)
        #expect(
            await Self.firstEvent(Self.destination(.loopback, port: port, answers: [["127.0.0.1"]])) == "received [7]")
        let refused = await Self.firstEvent(Self.destination(Self.publicOnly, port: port, answers: [["127.0.0.1"]]))
        #expect(refused.hasPrefix("ended may not connect: media.example is at 127.0.0.1"), "\(refused)")
        // The host is an address, which needs no look-up.
        let byNumber = await Self.firstEvent(
            Self.destination(Self.publicOnly, host: "127.0.0.1", port: port, answers: [[]]))
        #expect(byNumber.hasPrefix("ended may not connect: 127.0.0.1 is in a local network"), "\(byNumber)")
        #expect(server.accepted == 1)
    }

    private static func firstEvent(_ destination: Destination) async -> String {
        await TCPConnection.firstEvent(of: destination, timeout: 30) { $0.open() }
    }

    @Test(
        arguments: [
            ("http://h/a", "http", "h", 80), ("https://h:444/a", "https", "h", 444),
            ("rtmps://u:p@H/a", "rtmps", "H", 443),
            ("rtmp://[::1]:9/a?b=c", "rtmp", "::1", 9), ("RTMP://h?x", "rtmp", "h", 1935),
        ] as [(String, String, String, Int)])
    func urlsOfEverySchemeAreTakenApart(_ url: String, _ scheme: String, _ host: String, _ port: Int) {
        #expect(
            Destination(url: url, limits: nil)?.target == Reach.Target(scheme: scheme, host: host, port: port))
    }

    @Test(arguments: [
        ("http://media.example:8000/live/a.flv?k=1", "http://93.184.216.34:8000/live/a.flv?k=1", "media.example:8000"),
        ("http://media.example/a", "http://93.184.216.34/a", "media.example"),
        ("HTTP://media.example", "http://93.184.216.34", "media.example"),
    ])
    func anHTTPURLIsPinned(_ url: String, _ location: String, _ host: String) throws {
        let address = try #require(Self.addresses(["93.184.216.34"], 80).first?.internet)
        let properties = Dictionary(uniqueKeysWithValues: HTTPPull.pinned(url, to: address))
        #expect(properties["location"] == location)
        #expect(properties["extra-headers"]?.contains("\"\(host)\"") == true)
        #expect(HTTPPull.pinned("https://media.example/a", to: address).isEmpty)
    }
}

/// Every kind of pull and push, with a name of this machine.
@Suite(.serialized, .timeLimit(.minutes(5))) struct DestinationConnectionTests {
    private static let publicOnly = Destination.Limits(reach: Reach(places: []), setting: "sources.allow")

    private static func ending(_ open: (@escaping @Sendable (PullEvent) -> Void) -> any SourcePull) async throws
        -> PullEnd
    {
        let ending = Mutex<PullEnd?>(nil)
        let pull = open { event in
            if case .ended(let end) = event { ending.withLock { $0 = end } }
        }
        #expect(try await outputEventually { ending.withLock { $0 } != nil })
        await pull.close()
        return try #require(ending.withLock { $0 })
    }

    @Test(arguments: ["rtmp", "rtmps", "http", "https"])
    func aSourceInALocalNetworkIsNotPulled(_ scheme: String) async throws {
        let server = try RTMPOddServer()
        defer { server.stop() }
        let url = "\(scheme)://localhost:\(server.port)/live/secret-key?auth_key=secret"
        let end = try await Self.ending { PullProtocols.open(url, reach: Self.publicOnly.reach, onEvent: $0) }
        let reason = end.words
        #expect(end.kind == .notAllowed)
        #expect(reason.contains("localhost is at") && reason.contains("sources.allow"), "\(reason)")
        #expect(!reason.contains("secret"))
        #expect(server.accepted == 0)
    }

    @Test(arguments: ["rtmp", "rtmps"])
    func anOutputInALocalNetworkIsNotConnected(_ scheme: String) async throws {
        let server = try RTMPOddServer()
        defer { server.stop() }
        let planned = PushDestination(id: "o", url: "\(scheme)://localhost:\(server.port)/live/secret-key")
        let output = DestinationOutput(planned, reach: Self.publicOnly.reach, preamble: [])
        #expect(try await outputEventually { output.status.lastError?.contains("outputs.allow") ?? false })
        #expect(output.status.lastError?.contains("secret-key") == false)
        await output.close()
        #expect(server.accepted == 0)
    }

    /// The server receives the host named in the URL, although its address is pinned.
    @Test func anHTTPSourceIsAskedForByItsName() async throws {
        let server = try HTTPRecorder(saying: "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        defer { server.stop() }
        let url = "http://localhost:\(server.port)/live/a.flv?k=1"
        _ = try await Self.ending { PullProtocols.open(url, reach: .loopback, onEvent: $0) }
        let lines = server.heard.split(whereSeparator: \.isNewline)
        #expect(lines.first == "GET /live/a.flv?k=1 HTTP/1.1")
        let hosts = lines.filter { $0.lowercased().hasPrefix("host:") }
        // A redirect asks once more.
        #expect(!hosts.isEmpty && hosts.allSatisfy { $0 == "Host: localhost:\(server.port)" }, "\(server.heard)")
    }
}

/// A server on loopback that records the first bytes it receives.
final class HTTPRecorder: Sendable {
    private let acceptor: LoopbackAcceptor
    private let text = Mutex("")

    init(saying answer: String) throws {
        acceptor = LoopbackAcceptor(try LoopbackListener())
        acceptor.start { [weak self] connection in
            var heard: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 8192)
            // A request may arrive in pieces.
            while heard.count < buffer.count, heard.firstRange(of: Array("\r\n\r\n".utf8)) == nil,
                case let count = recv(connection, &buffer, buffer.count, 0), count > 0
            { heard += buffer[..<count] }
            let request = String(decoding: heard, as: UTF8.self)
            self?.text.withLock { $0 += request }
            _ = send(connection, answer, answer.utf8.count, Int32(MSG_NOSIGNAL))
            close(connection)
        }
    }

    var port: Int { acceptor.port }
    var heard: String { text.withLock { $0 } }
    func stop() { acceptor.stop() }
}
