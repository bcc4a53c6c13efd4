import Foundation

/// A private nginx with the RTMP module that serves as media server and as CDN; see `deploy/media-server.sh`.
final class MediaServer {
    private let directory: String
    private let port: Int

    /// Starts the server.
    ///
    /// - Parameter directory: Directory of the server, which is created.
    init(directory: String) throws {
        self.directory = directory
        let printed = try Self.script(["start", directory])
        let port = printed.split(whereSeparator: \.isWhitespace).first { $0.hasPrefix("RTMP_PORT=") }
        guard let port = port.flatMap({ Int($0.dropFirst("RTMP_PORT=".count)) }) else {
            throw BenchmarkError("deploy/media-server.sh printed no RTMP port: \(printed)")
        }
        self.port = port
    }

    /// Returns the RTMP URL of a stream.
    ///
    /// - Parameter path: `application/stream`.
    func url(_ path: String) -> String { "rtmp://127.0.0.1:\(port)/\(path)" }

    func stop() { _ = try? Self.script(["stop", directory]) }

    private static func script(_ arguments: [String]) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "deploy/media-server.sh")
        process.arguments = arguments
        process.standardOutput = output
        try process.run()
        let printed = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw BenchmarkError("deploy/media-server.sh \(arguments[0]) failed")
        }
        return printed
    }
}
