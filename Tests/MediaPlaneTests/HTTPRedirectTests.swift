import Foundation
import Synchronization
import TestSupport
import Testing

@testable import MediaFormats
@testable import ProgramRelay
@testable import RTMP
@testable import TextFormats

/// Redirects of HTTP-FLV, from a server on loopback.
@Suite(.serialized, .timeLimit(.minutes(3))) struct HTTPRedirectTests {
    @Test(arguments: [
        ("HTTP/1.1 302 Found\r\nLocation: /b\r\n\r\n", "/b"),
        ("HTTP/1.0 301 Moved\r\nX: y\r\nlocation:http://h/b\r\n\r\n", "http://h/b"),
        ("HTTP/1.1 200 OK\r\nLocation: /b\r\n\r\n", nil), ("HTTP/1.1 302 Found\r\n\r\nLocation: /b\r\n", nil),
        ("HTTP/1.1 304 Not Modified\r\nLocation: /b\r\n\r\n", nil), ("", nil), ("\r\n\r\n", nil),
    ])
    func heads(head: String, location: String?) {
        var response = HTTPResponse(limit: 100)
        try? response.push(Array(head.utf8)[...])
        #expect(HTTPRedirect.location(in: response) == location)
    }

    @Test func onlyHTTPURLsAreFollowed() {
        let base = "http://host:8080/live/a.flv?k=1"
        func resolve(_ reference: String) -> String? { HTTPRedirect.resolve(reference, against: base) }
        #expect(resolve("/b.flv") == "http://host:8080/b.flv" && resolve("b.flv") == "http://host:8080/live/b.flv")
        #expect(resolve("https://other/x?y=z") == "https://other/x?y=z")
        for reference in [
            "rtmp://host/a", "file:///etc/passwd", "http://user:pass@host/a", "http://", "/a b", "/a\r\nX: y", "//",
        ] {
            #expect(resolve(reference) == nil, "\(reference)")
        }
    }

    private static func open(_ url: String, _ limits: Destination.Limits? = nil) -> (any SourcePull, Events) {
        let events = Events()
        let request = PullRequest(url: url, limits: limits, options: HTTPPull.options)
        return (HTTPPull.open(request) { events.take($0) }, events)
    }

    @Test func redirectsAreFollowedToTheStream() async throws {
        let server = try Server()
        defer { server.stop() }
        let (pull, events) = Self.open("http://127.0.0.1:\(server.port)/r/4")
        #expect(try await outputEventually { events.isConnected })
        await pull.close()
        #expect(server.paths.last == "/stream" && Set(server.paths) == ["/r/4", "/r/3", "/r/2", "/r/1", "/stream"])
    }

    @Test func endlessRedirectsEnd() async throws {
        let server = try Server()
        defer { server.stop() }
        let (pull, events) = Self.open("http://127.0.0.1:\(server.port)/r/99")
        #expect(try await outputEventually { events.end != nil })
        #expect(events.end?.words == "the server redirects more than 5 times")
        await pull.close()
    }

    @Test func aTargetThatIsNotAllowedIsNotConnectedTo() async throws {
        let (server, other) = (try Server(), try Server())
        defer { for server in [server, other] { server.stop() } }
        // Another port of the same address is a different target.
        let reach = Reach(places: [Reach.Place(address: "127.0.0.1", port: server.port)])
        let (pull, events) = Self.open(
            "http://127.0.0.1:\(server.port)/to/\(other.port)",
            Destination.Limits(reach: reach, setting: "sources.allow"))
        #expect(try await outputEventually { events.end != nil })
        #expect(events.end?.kind == .notAllowed, "\(String(describing: events.end))")
        #expect(other.paths.isEmpty)
        await pull.close()
    }

    private final class Events: Sendable {
        private let state = Mutex<(isConnected: Bool, end: PullEnd?)>((false, nil))

        var isConnected: Bool { state.withLock { $0.isConnected } }
        var end: PullEnd? { state.withLock { $0.end } }

        func take(_ event: PullEvent) {
            state.withLock { state in
                switch event {
                case .connected: state.isConnected = true
                case .media: break
                case .ended(let end): state.end = end
                }
            }
        }
    }

    /// `/r/n` redirects to `/r/n-1` and finally to `/stream`, with a page as servers send with redirects; `/to/port` to
    /// that port.
    private final class Server: Sendable {
        private let acceptor: LoopbackAcceptor
        private let asked = Mutex<[String]>([])

        var port: Int { acceptor.port }
        var paths: [String] { asked.withLock { $0 } }

        init() throws {
            acceptor = LoopbackAcceptor(try LoopbackListener())
            acceptor.start { [weak self] connection in
                self?.answer(connection)
                shutdown(connection, Int32(SHUT_WR))
                close(connection)
            }
        }

        private func answer(_ connection: Int32) {
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = recv(connection, &bytes, bytes.count, 0)
            let words = String(decoding: bytes[..<max(count, 0)], as: UTF8.self).split(separator: " ")
            guard words.count > 1 else { return }
            let path = String(words[1])
            asked.withLock { $0.append(path) }
            let parts = path.split(separator: "/")
            let number = parts.count == 2 ? Int(parts[1]) ?? 0 : 0
            var response = Array("HTTP/1.1 200 OK\r\nContent-Type: video/x-flv\r\n\r\n".utf8) + FLVTag.fileHeader
            if path != "/stream" {
                let target =
                    parts.first == "to"
                    ? "http://127.0.0.1:\(number)/stream" : number > 1 ? "/r/\(number - 1)" : "/stream"
                response = Array(
                    "HTTP/1.1 302 Found\r\nLocation: \(target)\r\nContent-Length: 6\r\n\r\n<html>".utf8)
            }
            _ = send(connection, response, response.count, Int32(MSG_NOSIGNAL))
        }

        func stop() { acceptor.stop() }
    }
}
