import Foundation
import MixModel
import Synchronization
import Testing

@testable import MixPipeline

/// RTMPS, to a TLS server in front of a real nginx-rtmp.
@Suite(.serialized, .timeLimit(.minutes(2))) struct OutputTLSTests {
    /// Ends TLS with a certificate of its own and passes on what is inside.
    private final class TLSFront: Sendable {
        let port: Int
        private let directory: URL
        private let process: pid_t

        private static let script = """
            import socket, ssl, sys, threading
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(sys.argv[2], sys.argv[3])
            listener = socket.create_server(("127.0.0.1", 0))
            open(sys.argv[4] + ".new", "w").write(str(listener.getsockname()[1]))
            import os
            os.rename(sys.argv[4] + ".new", sys.argv[4])
            def copy(source, sink):
                try:
                    while data := source.recv(65536): sink.sendall(data)
                except OSError: pass
                for end in (source, sink):
                    try: end.shutdown(socket.SHUT_RDWR)
                    except OSError: pass
            def serve(client):
                try:
                    client = context.wrap_socket(client, server_side=True)
                    server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
                except OSError: return client.close()
                threading.Thread(target=copy, args=(server, client), daemon=True).start()
                copy(client, server)
            while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
            """

        init(to port: Int) async throws {
            directory = FileManager.default.temporaryDirectory.appendingPathComponent("tls-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            let (key, certificate) = (directory.path + "/key.pem", directory.path + "/certificate.pem")
            let made = try await outputTool(
                "/usr/bin/env",
                [
                    "sh", "-c", "exec openssl \"$@\" 2>/dev/null", "sh", "req", "-x509", "-newkey", "rsa:2048",
                    "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key,
                    "-out", certificate,
                ])
            try #require(made == 0, "openssl makes no certificate")
            let answer = directory.path + "/port"
            let arguments: [String] = ["python3", "-c", Self.script, "\(port)", certificate, key, answer]
            var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
            defer { for word in words { free(word) } }
            var child: pid_t = 0
            try #require(posix_spawnp(&child, "python3", nil, nil, &words, environ) == 0)
            process = child
            var found: Int?
            _ = try await outputEventually {
                found = (try? String(contentsOfFile: answer, encoding: .utf8)).flatMap { Int($0) }
                return found != nil
            }
            self.port = try #require(found, "the TLS server does not start")
        }

        func stop() {
            kill(process, SIGKILL)
            var status: Int32 = 0
            waitpid(process, &status, 0)
            try? FileManager.default.removeItem(at: directory)
        }
    }

    @Test func aProgramGoesOutEncrypted() async throws {
        let server = try await OutputMediaServer.start()
        let front = try await TLSFront(to: server.rtmpPort)
        let tags = try await outputProgram(seconds: 8)
        let viewer = PullRecorder(url: server.url("secret"))
        #expect(try await outputEventually { viewer.hasBegun })
        let output = RTMPOutput(
            PlannedOutput(id: "o", url: "rtmps://localhost:\(front.port)/live/secret"), preamble: [],
            policy: OutputMachine.Policy(),
            connect: { try RTMPConnection(url: $0, limits: $1, name: $2, trustsAnyone: true) })
        try await output.play(tags)
        let sent = tags.count { if case .frame = $0.role { true } else { false } }
        #expect(try await outputEventually { viewer.frames.count == sent })
        #expect(output.status.state == .live && output.status.lastError == nil)
        await output.close()
        // A wrong key looks alike behind TLS.
        let refused = RTMPOutput(
            PlannedOutput(id: "o", url: "rtmps://localhost:\(front.port)/guarded/name?key=wrong"), preamble: [],
            policy: OutputMachine.Policy(),
            connect: { try RTMPConnection(url: $0, limits: $1, name: $2, trustsAnyone: true) })
        refused.send(tags)
        #expect(try await outputEventually { refused.status.state == .recovering })
        print("RTMPS, wrong key:", refused.status.lastErrorCode ?? "", refused.status.lastError ?? "")
        #expect(refused.status.lastErrorCode == .publishRefused)
        await refused.close()
        await viewer.close()
        front.stop()
        await server.remove()
    }

    @Test func aCertificateThatNobodyVouchesForIsNotTrusted() async throws {
        let server = try await OutputMediaServer.start()
        let front = try await TLSFront(to: server.rtmpPort)
        let output = RTMPOutput(
            PlannedOutput(id: "o", url: "rtmps://localhost:\(front.port)/live/secret-key"), preamble: [])
        output.send(try await outputProgram(seconds: 1))
        #expect(try await outputEventually { output.status.state == .recovering })
        print("RTMPS, unknown certificate:", output.status.lastErrorCode ?? "", output.status.lastError ?? "")
        #expect(output.status.lastErrorCode == .tlsFailed)
        #expect(output.status.lastError?.contains("secret-key") == false)
        await output.close()
        // No TLS there at all.
        let plain = RTMPOutput(
            PlannedOutput(id: "o", url: "rtmps://localhost:\(server.rtmpPort)/live/secret-key"), preamble: [])
        #expect(try await outputEventually { plain.status.state == .recovering })
        print("RTMPS, no TLS:", plain.status.lastErrorCode ?? "", plain.status.lastError ?? "")
        // nginx-rtmp does not answer what is no RTMP.
        #expect([.tlsFailed, .timeout].contains(plain.status.lastErrorCode))
        await plain.close()
        // Nobody there.
        let nobody = RTMPOutput(PlannedOutput(id: "o", url: "rtmps://localhost:1/live/secret-key"), preamble: [])
        #expect(try await outputEventually { nobody.status.state == .recovering })
        print("RTMPS, nobody:", nobody.status.lastErrorCode ?? "", nobody.status.lastError ?? "")
        #expect(nobody.status.lastErrorCode == .connectionRefused)
        await nobody.close()
        front.stop()
        await server.remove()
    }
}
