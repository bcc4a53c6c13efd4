import COpenSSL
import Foundation
import Testing

@testable import RTMP

/// The client's side of TLS against OpenSSL's server, both in memory.
@Suite(.timeLimit(.minutes(3))) struct TLSSessionTests {
    /// Exchanges all bytes, `step` at a time, until neither side has more.
    /// - Returns: The plaintext that each side has received from the other.
    @discardableResult
    private static func carry(
        _ client: TLSSession, _ server: TLSPeer, step: Int = .max
    ) -> (up: [UInt8], down: [UInt8]) {
        var (up, down): ([UInt8], [UInt8]) = ([], [])
        var isQuiet = false
        while !isQuiet {
            let (above, below) = (client.takeOutput(), server.takeOutput())
            isQuiet = above.isEmpty && below.isEmpty
            for start in stride(from: 0, to: above.count, by: min(step, max(above.count, 1))) {
                up += server.receive(Array(above[start..<min(start + min(step, above.count), above.count)])) ?? []
            }
            for start in stride(from: 0, to: below.count, by: min(step, max(below.count, 1))) {
                down += client.receive(below[start..<min(start + min(step, below.count), below.count)])
            }
        }
        return (up, down)
    }

    private static func failure(_ state: TLSSession.State) -> String? {
        if case .failed(let words) = state { words } else { nil }
    }

    @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION], [1, 7, Int.max])
    func bytesComeInPiecesOfAnySize(_ version: Int32, _ step: Int) async throws {
        let certificate = try await TestCertificate.make()
        defer { certificate.remove() }
        let client = TLSSession(TLSContext(trusting: certificate.file), host: "localhost")
        let server = try TLSPeer(certificate, newest: version)
        #expect(client.state == .handshake && !client.write([1]))
        client.begin()
        Self.carry(client, server, step: step)
        #expect(client.state == .open)
        #expect(server.version == (version == TLS1_2_VERSION ? "TLSv1.2" : "TLSv1.3"))
        #expect(server.serverName == "localhost")
        #expect(client.write([1, 2, 3]) && client.write([]))
        server.write([4, 5])
        let (up, down) = Self.carry(client, server, step: step)
        #expect(up == [1, 2, 3] && down == [4, 5])
        // Many records at once.
        let large = (0..<(1 << 18)).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8) }
        #expect(client.write(large))
        server.write(large)
        let (upper, lower) = Self.carry(client, server, step: max(step, 1000))
        #expect(upper == large && lower == large)
    }

    @Test func newKeysInTheMiddleOfAStreamAreAnswered() async throws {
        let certificate = try await TestCertificate.make()
        defer { certificate.remove() }
        let client = TLSSession(TLSContext(trusting: certificate.file), host: "localhost")
        let server = try TLSPeer(certificate)
        client.begin()
        Self.carry(client, server)
        server.changeKeys()
        #expect(client.receive(server.takeOutput()[...]).isEmpty && client.state == .open)
        // OpenSSL answers with the next write: in a separate record before that of the byte.
        #expect(client.write([6]))
        let records = client.takeOutput()
        let first = 5 + Int(records[3]) << 8 + Int(records[4])
        #expect(records.count > first + 5)
        #expect(server.receive(Array(records[..<first])) == [] && server.receive(Array(records[first...])) == [6])
        #expect(client.write([6]))
        server.write([7])
        let (up, down) = Self.carry(client, server)
        #expect(up == [6] && down == [7])
    }

    /// OpenSSL writes nothing while it has read only a part of a message other than stream data.
    @Test func whatIsRefusedIsTakenLater() async throws {
        let certificate = try await TestCertificate.make()
        defer { certificate.remove() }
        let client = TLSSession(TLSContext(trusting: certificate.file), host: "localhost")
        let server = try TLSPeer(certificate)
        server.makeTicketsLong()
        client.begin()
        while client.state == .handshake {
            _ = server.receive(client.takeOutput())
            _ = client.receive(server.takeOutput()[...])
        }
        _ = server.receive(client.takeOutput())
        let tickets = server.takeOutput()
        // One record and its header.
        let record = 5 + Int(tickets[3]) << 8 + Int(tickets[4])
        #expect(tickets.count > 4 * record)
        _ = client.receive(tickets[..<record])
        #expect(client.state == .open && !client.write([8]))
        _ = client.receive(tickets[record...])
        #expect(client.state == .open && client.write([8, 9]))
        #expect(Self.carry(client, server).up == [8, 9])
    }

    @Test func bothSayGoodbye() async throws {
        let certificate = try await TestCertificate.make()
        defer { certificate.remove() }
        let client = TLSSession(TLSContext(trusting: certificate.file), host: "localhost")
        let server = try TLSPeer(certificate)
        client.begin()
        Self.carry(client, server)
        #expect(client.write([1]))
        client.finish()
        client.finish()
        #expect(!client.write([2]))
        let last = client.takeOutput()
        #expect(server.receive(last) == [1] && server.receive([]) == nil)
        // The server's remaining messages are read.
        server.write([3])
        #expect(client.receive(server.takeOutput()[...]) == [3] && client.state == .open)
        server.sayGoodbye()
        #expect(client.receive(server.takeOutput()[...]) == [] && client.state == .ended)
    }

    @Test(arguments: [
        ("DNS:localhost", "localhost", true), ("DNS:localhost", "LOCALHOST.", true), ("DNS:a.b", "localhost", false),
        ("DNS:*.example.com", "a.example.com", true), ("DNS:*.example.com", "a.b.example.com", false),
        ("DNS:f*.example.com", "foo.example.com", false),
        ("IP:127.0.0.1", "127.0.0.1", true), ("IP:127.0.0.1", "127.0.0.2", false), ("IP:::1", "::1", true),
        // A name does not match an address, nor an address a name.
        ("DNS:127.0.0.1", "127.0.0.1", false), ("IP:127.0.0.1", "localhost", false),
    ])
    func aCertificateIsForItsNamesOnly(_ names: String, _ host: String, _ isGood: Bool) async throws {
        let certificate = try await TestCertificate.make(for: names)
        defer { certificate.remove() }
        let client = TLSSession(TLSContext(trusting: certificate.file), host: host)
        let server = try TLSPeer(certificate)
        client.begin()
        Self.carry(client, server)
        #expect((client.state == .open) == isGood, "\(client.state)")
        if !isGood { #expect(Self.failure(client.state)?.contains("mismatch") == true, "\(client.state)") }
        // An address is not sent as a server name.
        let isAddress = host.contains(":") || host.hasPrefix("127")
        #expect((server.serverName == nil) == isAddress)
    }

    @Test func whatIsWrongIsSaidInWords() async throws {
        let (one, other) = (try await TestCertificate.make(), try await TestCertificate.make())
        defer { for certificate in [one, other] { certificate.remove() } }
        let stranger = TLSSession(TLSContext(trusting: other.file), host: "localhost")
        stranger.begin()
        let server = try TLSPeer(one)
        Self.carry(stranger, server)
        #expect(Self.failure(stranger.state) == "the server's certificate is refused: self-signed certificate")
        #expect(!stranger.write([1]) && stranger.receive([1, 2, 3]).isEmpty)
        let nobody = TLSSession(.system, host: "localhost")
        nobody.begin()
        Self.carry(nobody, try TLSPeer(one))
        #expect(Self.failure(nobody.state) == "the server's certificate is refused: self-signed certificate")
        let old = TLSSession(TLSContext(trusting: one.file), host: "localhost")
        old.begin()
        Self.carry(old, try TLSPeer(one, newest: TLS1_1_VERSION))
        #expect(Self.failure(old.state)?.contains("version") == true, "\(old.state)")
        let web = TLSSession(TLSContext(trusting: one.file), host: "localhost")
        web.begin()
        #expect(web.receive(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)[...]).isEmpty)
        #expect(Self.failure(web.state) == "wrong version number")
        let unreadable = TLSSession(TLSContext(trusting: one.directory.path + "/nothing.pem"), host: "localhost")
        unreadable.begin()
        #expect(Self.failure(unreadable.state)?.contains("No such file or directory") == true, "\(unreadable.state)")
        #expect(unreadable.takeOutput().isEmpty && unreadable.receive([1]).isEmpty && !unreadable.write([1]))
    }
}
