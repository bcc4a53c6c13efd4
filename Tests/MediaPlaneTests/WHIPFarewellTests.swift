import EncodedMedia
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import MediaFormats
@testable import ProgramRelay

/// The end of a program while its WHIP server is answering.
@Suite(.timeLimit(.minutes(2))) struct WHIPFarewellTests {
    @Test func aSessionIsEndedThatTheServerCreatesAfterTheEnd() async throws {
        let server = try LateServer()
        let settings = Array(#"{"url":"whip://127.0.0.1:\#(server.port)/whip/alice"}"#.utf8)
        let minute: Int64 = 60_000_000_000
        let program = try WHIPProgram(
            settings: settings, report: { _ in }, lateResponse: minute, media: { OfferingMedia($0) })
        let sound = OutputTag(FLVTag(role: .sequenceHeader(.audio), timestamp: 0, body: [0xAF, 0, 0x11, 0x90]))
        let frame = OutputTag(FLVTag(role: .frame(.audio, isIDR: false), timestamp: 1, body: [0xAF, 1, 1]))
        let input = Mutex<[UInt8]?>(FLVTag.fileHeader + sound.bytes + frame.bytes)
        await program.run {
            if let bytes = input.withLock({ $0.take() }) { return bytes }
            server.endWhenAsked()
            return nil
        }
        #expect(try await outputEventually { server.requests.count == 2 })
        #expect(server.requests == ["POST /whip/alice", "DELETE /sessions/1"])
        server.stop()
    }

    /// A program whose input does not end, because the process that reads it stands still.
    @Test func aSessionIsEndedWhenTheRelayIsGone() async throws {
        let server = try LateServer()
        let settings = Array(#"{"url":"whip://127.0.0.1:\#(server.port)/whip/alice"}"#.utf8)
        let program = try WHIPProgram(
            settings: settings, report: { _ in }, lateResponse: 60_000_000_000, media: { OfferingMedia($0) })
        let sound = OutputTag(FLVTag(role: .sequenceHeader(.audio), timestamp: 0, body: [0xAF, 0, 0x11, 0x90]))
        let frame = OutputTag(FLVTag(role: .frame(.audio, isIDR: false), timestamp: 1, body: [0xAF, 1, 1]))
        let input = Mutex<[UInt8]?>(FLVTag.fileHeader + sound.bytes + frame.bytes)
        let end = DispatchSemaphore(value: 0)
        await program.run {
            if let bytes = input.withLock({ $0.take() }) { return bytes }
            server.endWhenAsked()
            program.abandon()
            end.wait()
            return nil
        }
        end.signal()
        #expect(try await outputEventually { server.requests.count == 2 })
        #expect(server.requests == ["POST /whip/alice", "DELETE /sessions/1"])
        server.stop()
    }
}

/// A server that answers an offer only when the program has ended.
private final class LateServer: Sendable {
    private let acceptor: LoopbackAcceptor
    private let received = Mutex<[String]>([])
    private let asked = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    var port: Int { acceptor.port }
    /// Methods and paths of the requests.
    var requests: [String] { received.withLock { $0 } }

    init() throws {
        acceptor = LoopbackAcceptor(try LoopbackListener())
        // Keeps the server until `stop`.
        acceptor.start { [self] in serve($0) }
    }

    /// Blocks until there is an offer, which is then answered.
    func endWhenAsked() {
        asked.wait()
        ended.signal()
    }

    func stop() { acceptor.stop() }

    private func serve(_ connection: Int32) {
        defer { close(connection) }
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        var text = ""
        while text.firstRange(of: "\r\n\r\n") == nil {
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            text += String(decoding: buffer[..<count], as: UTF8.self)
        }
        received.withLock { $0.append(text.split(separator: " ").prefix(2).joined(separator: " ")) }
        var answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        if text.hasPrefix("POST") {
            asked.signal()
            ended.wait()
            // Time in which the program could cancel its request.
            usleep(300_000)
            answer = "HTTP/1.1 201 Created\r\nLocation: /sessions/1\r\nContent-Length: 3\r\n\r\nv=0"
        }
        let bytes = Array(answer.utf8)
        _ = send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        shutdown(connection, Int32(SHUT_WR))
        while recv(connection, &buffer, buffer.count, 0) > 0 {}
    }
}

/// A WebRTC side that makes an offer at once, and never connects.
private final class OfferingMedia: WHIPMedia {
    private let onEvent: @Sendable (WHIPMediaEvent) -> Void

    init(_ onEvent: @escaping @Sendable (WHIPMediaEvent) -> Void) { self.onEvent = onEvent }

    func offer(video: CodecConfiguration?, hasAudio: Bool, addresses: [String]) { onEvent(.offered("v=0\r\n")) }
    func accept(_ answer: String) {}
    func take(_ items: [MediaItem], onTaken: @escaping @Sendable () -> Void) { onTaken() }
    var lastHeard: Int64? { nil }
    func close() async {}
}
