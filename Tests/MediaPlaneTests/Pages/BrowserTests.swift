import Foundation
import RTMP
import Synchronization
import TestSupport
import Testing

@testable import PageCapture

/// The control of a browser, whose end of the debugging pipe is the test's.
struct BrowserTests {
    /// Begins a browser, and answers its first commands, until its page can be opened. The caller closes it.
    private static func prepared() async throws -> (Browser, BrowserPeer) {
        let peer = BrowserPeer()
        let browser = Browser(to: peer.commands.fileHandleForWriting, hearsConsole: false) { event in
            peer.events.withLock { $0.append(event) }
        }
        let reading = peer.messages.fileHandleForReading
        SocketLoop.shared.perform { browser.begin(reading: reading) }
        let page = #"{"targetInfos":[{"targetId":"T","type":"page","url":"data:text/html,x"}]}"#
        peer.answer(try await peer.next("Target.getTargets"), page)
        peer.answer(try await peer.next("Target.attachToTarget"), #"{"sessionId":"S"}"#)
        peer.answer(try await peer.next("Target.setDiscoverTargets"), "{}")
        return (browser, peer)
    }

    /// A server that is refused, or down, is not said to have answered.
    @Test func whoHasAnsweredIsSaid() async throws {
        let (browser, peer) = try await Self.prepared()
        defer { SocketLoop.shared.perform { browser.close() } }
        for (status, headers) in [
            (403, #"{"x-mixorchestrator-proxy":"refused"}"#), (502, #"{"x-mixorchestrator-proxy":"unreachable"}"#),
            (503, "{}"), (200, "{}"),
        ] {
            peer.say(
                #"{"method":"Network.responseReceived","sessionId":"S","params":{"frameId":"T","type":"Document","#
                    + #""response":{"status":\#(status),"headers":\#(headers)}}}"#)
        }
        peer.say(#"{"method":"Inspector.targetCrashed","sessionId":"S","params":{}}"#)
        #expect(try await outputEventually { peer.events.withLock { $0.last == .crashed } })
        let told = peer.events.withLock { $0 }
        #expect(
            told == [
                .ready, .loadFailed("its address is refused (sources.allow)"),
                .loadFailed("its server cannot be reached"), .loadFailed("its server answers with status 503"),
                .crashed,
            ])
    }

    /// A process that is ended does not answer, for which the browser gives an error, too.
    @Test func aRefusalToEndThePageIsSaid() async throws {
        let (browser, peer) = try await Self.prepared()
        defer { SocketLoop.shared.perform { browser.close() } }
        #expect(try await outputEventually { peer.events.withLock { $0 == [.ready] } })
        SocketLoop.shared.perform {
            browser.crash()
            browser.crash()
        }
        for words in ["Target crashed", "Page has pending navigations, not killing"] {
            let id = try await peer.next("Page.crash")
            peer.say(#"{"id":\#(id),"error":{"code":-32000,"message":"\#(words)"}}"#)
        }
        #expect(try await outputEventually { peer.events.withLock { $0.count > 1 } })
        let told = peer.events.withLock { $0 }
        #expect(told == [.ready, .crashRefused])
    }

    /// The browser shows a page of its own in place of one that cannot be loaded, and says so without the reason.
    @Test func theReasonIsThatOfTheNavigation() async throws {
        let (browser, peer) = try await Self.prepared()
        defer { SocketLoop.shared.perform { browser.close() } }
        #expect(try await outputEventually { peer.events.withLock { $0 == [.ready] } })
        let own =
            #"{"method":"Page.frameNavigated","sessionId":"S","#
            + #""params":{"frame":{"id":"T","unreachableUrl":"https://a.example/"}}}"#
        for (index, failure) in ["net::ERR_CERT_AUTHORITY_INVALID", "net::ERR_SSL_PROTOCOL_ERROR"].enumerated() {
            SocketLoop.shared.perform { browser.navigate(to: "https://a.example/") }
            let id = try await peer.next("Page.navigate")
            peer.say(own)
            peer.answer(id, #"{"frameId":"T","errorText":"\#(failure)"}"#)
            #expect(try await outputEventually { peer.events.withLock { $0.count >= index + 2 } })
        }
        // A page that leaves by itself has no answer that says why.
        peer.say(own)
        #expect(try await outputEventually { peer.events.withLock { $0.count > 3 } })
        let told = peer.events.withLock { $0 }
        #expect(
            told == [
                .ready, .loadFailed("its certificate is not valid (net::ERR_CERT_AUTHORITY_INVALID)"),
                .loadFailed("TLS with its server fails (net::ERR_SSL_PROTOCOL_ERROR)"),
                .loadFailed("its server cannot be reached"),
            ])
    }

    @Test func theEndOfAnEarlierNavigationSaysNothing() async throws {
        let (browser, peer) = try await Self.prepared()
        defer { SocketLoop.shared.perform { browser.close() } }
        #expect(try await outputEventually { peer.events.withLock { $0 == [.ready] } })
        SocketLoop.shared.perform {
            browser.navigate(to: "http://a.example/")
            browser.navigate(to: "http://a.example/again")
        }
        let first = try await peer.next("Page.navigate")
        let second = try await peer.next("Page.navigate")
        peer.answer(first, #"{"frameId":"T","errorText":"net::ERR_ABORTED"}"#)
        peer.answer(second, #"{"frameId":"T"}"#)
        #expect(try await outputEventually { peer.events.withLock { $0.contains(.loaded) } })
        let told = peer.events.withLock { $0 }
        #expect(told == [.ready, .loaded])
    }
}

/// The browser's end of a debugging pipe. Used by one task.
///
/// `@unchecked Sendable`: see above.
private final class BrowserPeer: @unchecked Sendable {
    struct Command: Decodable {
        var id: Int
        var method: String
    }

    let commands = Pipe()
    let messages = Pipe()
    /// What the browser has told.
    let events = Mutex<[Browser.Event]>([])
    private var splitter = BrowserMessages()
    private var waiting: [Command] = []

    init() { _ = fcntl(commands.fileHandleForReading.fileDescriptor, F_SETFL, O_NONBLOCK) }

    /// Returns the next command with this method, without those before it.
    func next(_ method: String) async throws -> Int {
        let found = try await poll(within: .seconds(60), every: .milliseconds(5)) { self.take(method) }
        return try #require(found, "no \(method)")
    }

    private func take(_ method: String) -> Int? {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let count = read(commands.fileHandleForReading.fileDescriptor, &buffer, buffer.count)
        if count > 0 {
            for bytes in splitter.take(buffer[..<count]) {
                if let command = try? JSONDecoder().decode(Command.self, from: Data(bytes)) { waiting.append(command) }
            }
        }
        while !waiting.isEmpty {
            let command = waiting.removeFirst()
            if command.method == method { return command.id }
        }
        return nil
    }

    /// - Parameter result: JSON.
    func answer(_ id: Int, _ result: String) { say("{\"id\":\(id),\"result\":\(result)}") }

    /// - Parameter message: JSON.
    func say(_ message: String) {
        try? messages.fileHandleForWriting.write(contentsOf: Data(Array(message.utf8) + [0]))
    }
}
