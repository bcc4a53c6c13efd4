import EncodedMedia
import Foundation
import MixModel
import Synchronization
import TestSupport

@testable import RTMP

/// A WHIP server of the tests: hand-written HTTP, and for each session a real `mixworker whip`, which publishes to an
/// ingest.
final class WHIPServer: Sendable {
    struct Request: Sendable {
        var method = ""
        var path = ""
        /// Header fields, with names in lower case.
        var fields: [String: String] = [:]
        var body = ""
    }

    private struct State {
        var requests: [Request] = []
        var workers: [WhipRig] = []
    }

    private let acceptor: LoopbackAcceptor
    private let ingest: IngestRig
    private let token: String?
    private let state = Mutex(State())

    var port: Int { acceptor.port }

    /// - Parameters:
    ///   - token: The only bearer token that may publish; `nil` if every client may.
    ///   - port: Port to listen on; 0 for any.
    init(ingest: IngestRig, token: String? = nil, port: Int = 0) throws {
        self.ingest = ingest
        self.token = token
        acceptor = LoopbackAcceptor(try LoopbackListener(port: port))
        acceptor.start { [weak self] connection in
            guard let self else {
                Foundation.close(connection)
                return
            }
            serve(connection)
        }
    }

    var requests: [Request] { state.withLock { $0.requests } }
    var workers: [WhipRig] { state.withLock { $0.workers } }

    /// Closes the port and kills the workers.
    func stop() {
        acceptor.stop()
        for worker in workers { worker.stop() }
    }

    private func serve(_ connection: Int32) {
        guard let request = Self.read(connection) else {
            Foundation.close(connection)
            return
        }
        state.withLock { $0.requests.append(request) }
        Task {
            let response = await answer(request)
            var rest = Array(response.utf8)[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                guard count > 0 else { break }
                rest = rest.dropFirst(count)
            }
            Foundation.close(connection)
        }
    }

    private static func read(_ connection: Int32) -> Request? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        var request = Request()
        while true {
            let text = String(decoding: bytes, as: UTF8.self)
            if let end = text.firstRange(of: "\r\n\r\n") {
                let lines = text[..<end.lowerBound].components(separatedBy: "\r\n")
                let words = lines[0].split(separator: " ")
                guard words.count == 3 else { return nil }
                (request.method, request.path) = (String(words[0]), String(words[1]))
                for line in lines.dropFirst() {
                    guard let colon = line.firstIndex(of: ":") else { continue }
                    request.fields[line[..<colon].lowercased()] = line[line.index(after: colon)...]
                        .trimmingCharacters(in: .whitespaces)
                }
                request.body = String(text[end.upperBound...])
                if request.body.utf8.count >= Int(request.fields["content-length"] ?? "0") ?? 0 { return request }
            }
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0, bytes.count < 1 << 20 else { return nil }
            bytes += buffer[..<count]
        }
    }

    private func answer(_ request: Request) async -> String {
        func response(_ status: String, _ fields: [String] = [], _ body: String = "") -> String {
            (["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)"] + fields).joined(separator: "\r\n")
                + "\r\n\r\n" + body
        }
        if request.path.hasPrefix("/moved/") {
            return response("307 Temporary Redirect", ["Location: /whip/\(request.path.dropFirst("/moved/".count))"])
        }
        if let token, request.fields["authorization"] != "Bearer \(token)" {
            let words =
                #"{"title":"Unauthorized","detail":"the token \#(request.fields["authorization"] ?? "") is wrong"}"#
            return response("401 Unauthorized", ["Content-Type: application/problem+json"], words)
        }
        guard let user = request.path.split(separator: "/").last else { return response("404 Not Found") }
        if request.method == "DELETE" {
            for worker in workers { worker.send(.terminate) }
            return response("200 OK")
        }
        let worker: WhipRig
        do { worker = try await WhipRig.start() } catch {
            return response("500 Internal Server Error", ["Content-Type: text/plain"], "\(error)")
        }
        state.withLock { $0.workers.append(worker) }
        worker.send(
            .publish(
                WebRTCPublisher(
                    offer: request.body, target: ingest.publishURL(String(user)),
                    network: WebRTCNetwork(addresses: ["127.0.0.1"]))))
        _ = try? await outputEventually { worker.answer != nil || worker.refusal != nil }
        guard let text = worker.answer else {
            return response("406 Not Acceptable", ["Content-Type: text/plain"], worker.refusal ?? "no answer")
        }
        return response(
            "201 Created", ["Content-Type: application/sdp", "Location: /sessions/\(user)"], text)
    }
}
