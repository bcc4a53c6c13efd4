import Crypto
import Foundation
import NIOCore
import Synchronization

/// Measures how many signed calls of the ApsaraVideo Live interface per second become durable. Tasks are started,
/// updated twice and stopped, and each connection has its own tasks and channels.
enum CallBenchmark {
    private static let connections = 64
    private static let key = "bench-key"
    private static let secret = "0123456789abcdef0123456789abcdef"

    /// The app keys that the service needs, as lines of its configuration.
    static let configuration = "apps: [{ id: bench, accessKeys: [{ id: \(key), secret: \(secret) }] }]\n"

    static func run(_ binary: String, count: Int) async throws {
        let server = try Server(binary, configuration: configuration)
        defer { server.stop() }
        try await server.start()
        let load = Load(port: server.port, connections: connections)
        for signature in [Signature.acs3, .rpc] {
            try await measure("warm-up", signature, server, load, count: min(count, 5000))
            try await measure("\(signature)", signature, server, load, count: count)
            try await BareServer.compare("calls, \(signature)", connections: connections, count: 20_000, aim: 5_000) {
                try await rate(signature, load, count: 5_000).rate
            }
        }
        print("memory: \(server.residentMemory()) MiB")
    }

    private enum Signature { case acs3, rpc }

    private static func measure(
        _ name: String, _ signature: Signature, _ server: Server, _ load: Load, count: Int
    ) async throws {
        let before = server.processorTime()
        let (rate, result) = try await rate(signature, load, count: count)
        let processor = server.processorTime() - before
        print(
            """
            calls, \(name): \(Int(rate)) signed and durable calls/s over \(connections) connections, \
            \(Latencies(result.latencies).summary), answers \(result.statuses), \
            service \(Int(processor / max(1, rate * result.seconds) * 1e6)) µs of processor time per call
            """)
    }

    /// Sends the calls.
    ///
    /// - Returns: Durable calls per second, and the answers.
    private static func rate(
        _ signature: Signature, _ load: Load, count: Int
    ) async throws -> (rate: Double, result: Load.Result) {
        // Signed beforehand: only the service is measured, and real clients have cores of their own.
        let run = UInt32.random(in: 0 ... .max)
        let signer = Signer(signature)
        let perConnection = count / connections / 4 * 4
        let requests = (0..<connections).map { connection in
            (0..<perConnection).map { signer.request(connection, $0, run) }
        }
        let next = Mutex([Int](repeating: 0, count: connections))
        let result = try await load.run { connection in
            let number = next.withLock { next in
                defer { next[connection] += 1 }
                return next[connection]
            }
            return number < perConnection ? requests[connection][number] : nil
        }
        return (Double(result.statuses[200] ?? 0) / result.seconds, result)
    }

    private struct Signer: Sendable {
        let signature: Signature
        let time: String

        init(_ signature: Signature) {
            self.signature = signature
            time = Date().formatted(.iso8601)
        }

        /// Returns the next request in the cycle start, two updates, stop.
        func request(_ connection: Int, _ number: Int, _ run: UInt32) -> ByteBuffer {
            let task = "task-\(connection)-\(run)-\(number / 4)"
            let ids = ["AppId": "bench", "ChannelId": "channel-\(connection)", "TaskId": task]
            switch number % 4 {
            case 0:
                return call(
                    "StartLiveMPUTask",
                    ids.merging([
                        "MixMode": "0", "StreamURL": "rtmp://127.0.0.1/live/\(connection)",
                        "SingleSubParams": #"{"UserId":"host","StreamType":"0"}"#,
                    ]) { $1 })
            case 1: return call("UpdateLiveMPUTask", ids.merging(["MixMode": "1", "TranscodeParams": mix]) { $1 })
            case 2: return call("UpdateLiveMPUTask", ids.merging(["MixMode": "0"]) { $1 })
            default: return call("StopLiveMPUTask", ["AppId": "bench", "TaskId": task])
            }
        }

        private func call(_ action: String, _ parameters: [String: String]) -> ByteBuffer {
            let nonce = UUID().uuidString
            switch signature {
            case .acs3:
                let query = Self.query(parameters)
                let fields = [
                    ("host", "127.0.0.1"), ("x-acs-action", action),
                    ("x-acs-content-sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
                    ("x-acs-date", time), ("x-acs-signature-nonce", nonce), ("x-acs-version", "2016-11-01"),
                ]
                let names = fields.map(\.0).joined(separator: ";")
                let canonical =
                    "POST\n/\n\(query)\n" + fields.map { "\($0.0):\($0.1)\n" }.joined() + "\n\(names)\n\(fields[2].1)"
                let digest = Self.hex(SHA256.hash(data: Data(canonical.utf8)))
                let code = HMAC<SHA256>.authenticationCode(
                    for: Data("ACS3-HMAC-SHA256\n\(digest)".utf8), using: SymmetricKey(data: Data(secret.utf8)))
                let lines = fields.map { "\($0.0): \($0.1)\r\n" }.joined()
                return ByteBuffer(
                    string: "POST /?\(query) HTTP/1.1\r\n\(lines)authorization: ACS3-HMAC-SHA256 Credential=\(key),"
                        + "SignedHeaders=\(names),Signature=\(Self.hex(code))\r\ncontent-length: 0\r\n\r\n")
            case .rpc:
                var all = parameters.merging([
                    "Action": action, "Version": "2016-11-01", "Format": "JSON", "Timestamp": time,
                    "SignatureNonce": nonce, "SignatureMethod": "HMAC-SHA1", "SignatureVersion": "1.0",
                    "SignatureType": "", "AccessKeyId": key,
                ]) { $1 }
                let code = HMAC<Insecure.SHA1>.authenticationCode(
                    for: Data("POST&%2F&\(Self.encoded(Self.query(all)))".utf8),
                    using: SymmetricKey(data: Data("\(secret)&".utf8)))
                all["Signature"] = Data(code).base64EncodedString()
                return HTTPCaller.request("POST", "/?" + Self.query(all))
            }
        }

        private static let unreserved = CharacterSet(
            charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")

        private static func encoded(_ text: String) -> String {
            text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
        }

        private static func query(_ parameters: [String: String]) -> String {
            parameters.sorted { $0.key < $1.key }.map { "\(encoded($0.key))=\(encoded($0.value))" }
                .joined(separator: "&")
        }

        private static func hex(_ bytes: some Sequence<UInt8>) -> String {
            bytes.map { String(format: "%02x", $0) }.joined()
        }
    }

    private static let mix = """
        {"EncodeParams":{"AudioBitrate":"128","AudioChannels":"2","AudioOnly":"false","AudioSampleRate":"44100",\
        "VideoBitrate":"2000","VideoCodec":"H.264","VideoFramerate":"30","VideoGop":"60","VideoHeight":"720",\
        "VideoWidth":"1280"},"Layout":{"UserPanes":[{"Height":"1","RenderMode":"1","UserInfo":{"UserId":"host"},\
        "Width":"0.5","X":"0","Y":"0","ZOrder":"0"},{"Height":"1","RenderMode":"1","UserInfo":{"UserId":"guest"},\
        "Width":"0.5","X":"0.5","Y":"0","ZOrder":"1"}]},"UserInfos":[{"UserId":"host"},{"UserId":"guest"}]}
        """
}
