import ChildProcesses
import Foundation
import Testing

@testable import RTMP
@testable import ProgramRelay

/// Terminates TLS with its own certificate and passes on the plaintext. The test that starts it stops it.
final class TLSFront: Sendable {
    let port: Int
    /// A context that trusts this certificate and no other.
    let trust: TLSContext
    private let certificate: TestCertificate
    private let process: LaunchedProcess

    private static let script = """
        import os, socket, ssl, sys, threading
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2], sys.argv[3])
        listener = socket.create_server(("127.0.0.1", 0))
        open(sys.argv[4] + ".new", "w").write(str(listener.getsockname()[1]))
        os.rename(sys.argv[4] + ".new", sys.argv[4])
        # Reads to the end also where nobody takes it any more: a socket that is closed with unread bytes resets its connection,
        # and what the other side has not read yet is lost.
        def copy(source, sink, how):
            try:
                while data := source.recv(65536):
                    try: sink.sendall(data)
                    except OSError: pass
            except OSError: pass
            try: sink.shutdown(how)
            except OSError: pass
        def serve(client):
            try:
                client = context.wrap_socket(client, server_side=True)
                server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
            except OSError: return client.close()
            threading.Thread(target=copy, args=(server, client, socket.SHUT_RDWR), daemon=True).start()
            copy(client, server, socket.SHUT_WR)
        while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        """

    /// - Parameter names: Names that the certificate is for, as in OpenSSL's `subjectAltName`.
    init(to port: Int, names: String = "DNS:localhost") async throws {
        certificate = try await TestCertificate.make(for: names)
        trust = TLSContext(trusting: certificate.file)
        let answer = certificate.directory.path + "/port"
        process = try ProcessLaunch(
            "python3", ["-c", Self.script, "\(port)", certificate.file, certificate.key, answer]
        ).start()
        var found: Int?
        _ = try await outputEventually {
            found = (try? String(contentsOfFile: answer, encoding: .utf8)).flatMap { Int($0) }
            return found != nil
        }
        self.port = try #require(found, "the TLS server does not start")
    }

    func stop() {
        process.signal(SIGKILL)
        process.waitForExit()
        certificate.remove()
    }
}
