import Foundation

/// Calls the ApsaraVideo Live interface with Alibaba Cloud's own SDKs, through scripts/sdk-call.sh in a process of its
/// own. One call runs at a time.
public actor SDKCalls {
    public enum SDK: String, Sendable, CaseIterable {
        /// alibabacloud_live20161101, ACS3-HMAC-SHA256.
        case new
        /// The same SDK, configured to sign with HMAC-SHA1.
        case v1
        /// aliyun-python-sdk-live, HMAC-SHA1.
        case legacy
    }

    /// The answer as the SDK read it, or the exception that it threw, as JSON.
    public struct Outcome: Sendable {
        public let text: String

        /// Returns the value at a path of keys and indices, as in `body.MPUTasks.0.TaskId`.
        public subscript(path: String) -> String? {
            var value = try? JSONSerialization.jsonObject(with: Data(text.utf8))
            for key in path.split(separator: ".") {
                if let index = Int(key), let array = value as? [Any] {
                    value = array.indices.contains(index) ? array[index] : nil
                } else {
                    value = (value as? [String: Any])?[String(key)]
                }
            }
            return value is NSNull ? nil : value.map { "\($0)" }
        }

        public var code: String? { self["error.code"] }
        public var isDone: Bool { self["body.RequestId"] != nil && self["error"] == nil }
    }

    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    public let sdk: SDK
    private let process = Process()
    private let input: FileHandle
    private let output: FileHandle
    private var received = Data()

    /// Starts the process.
    ///
    /// - Parameters:
    ///   - root: Root directory of the package.
    ///   - build: Directory in which the SDKs are installed.
    public init(
        _ sdk: SDK, port: Int, key: String, secret: String, securityToken: String? = nil, root: URL, build: URL
    ) throws {
        self.sdk = sdk
        let (input, output) = (Pipe(), Pipe())
        process.executableURL = root.appendingPathComponent("scripts/sdk-call.sh")
        process.arguments = [sdk.rawValue, "127.0.0.1:\(port)", key]
        var environment = ["SECRET": secret, "BUILD_DIR": build.path]
        if let securityToken { environment["SECURITY_TOKEN"] = securityToken }
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        self.input = input.fileHandleForWriting
        self.output = output.fileHandleForReading
    }

    /// Makes a call.
    ///
    /// - Parameter parameters: A JSON object with the interface's own names.
    public func call(_ action: String, _ parameters: String) async throws -> Outcome {
        let line =
            "{\"action\": \"\(action)\", \"parameters\": \(parameters.replacingOccurrences(of: "\n", with: " "))}\n"
        try input.write(contentsOf: Data(line.utf8))
        while true {
            if let end = received.firstIndex(of: UInt8(ascii: "\n")) {
                let text = String(decoding: received[..<end], as: UTF8.self)
                received = Data(received[received.index(after: end)...])
                return Outcome(text: text)
            }
            // Reading blocks, so it does not run on the cooperative pool.
            let output = output
            let more = await withCheckedContinuation { continuation in
                DispatchQueue.global().async { continuation.resume(returning: output.availableData) }
            }
            guard !more.isEmpty else { throw Failure(description: "scripts/sdk-call.sh ended: \(action)") }
            received += more
        }
    }

    public func end() async {
        try? input.close()
        // Waiting blocks too.
        let process = process
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                process.waitUntilExit()
                continuation.resume()
            }
        }
    }
}
