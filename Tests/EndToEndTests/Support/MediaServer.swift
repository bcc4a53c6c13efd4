import Foundation

/// A private nginx with the RTMP module: the rooms' media server (`live`) and the CDN (`cdn`).
struct MediaServer: Sendable {
    let directory: URL
    let rtmpPort: Int
    let httpPort: Int

    func live(_ name: String) -> String { "rtmp://127.0.0.1:\(rtmpPort)/live/\(name)" }
    /// Returns the URL of another CDN, which forwards streams from any frame on.
    func plain(_ name: String) -> String { "rtmp://127.0.0.1:\(rtmpPort)/plain/\(name)" }
    func cdn(_ name: String) -> String { "rtmp://127.0.0.1:\(rtmpPort)/cdn/\(name)" }

    static func start(in directory: URL) async throws -> MediaServer {
        let place = directory.appendingPathComponent("nginx")
        let output = try await script("start", place, in: directory)
        var values: [String: Int] = [:]
        for line in output.split(separator: "\n") {
            let parts = line.split(separator: "=")
            if parts.count == 2 { values[String(parts[0])] = Int(parts[1]) }
        }
        guard let rtmp = values["RTMP_PORT"], let http = values["HTTP_PORT"] else {
            throw EndToEndError("the media server did not start: \(output)")
        }
        return MediaServer(directory: directory, rtmpPort: rtmp, httpPort: http)
    }

    func stop() async {
        _ = try? await MediaServer.script("stop", directory.appendingPathComponent("nginx"), in: directory)
    }

    private static func script(_ verb: String, _ place: URL, in directory: URL) async throws -> String {
        let path = Workspace.root.appendingPathComponent("deploy/media-server.sh").path
        let process = try ManagedProcess("media-server-\(verb)", "bash", [path, verb, place.path], in: directory)
        try await waitUntil("media-server.sh \(verb) has ended: \(process.messages())") { !process.isRunning }
        guard process.exitStatus == 0 else { throw EndToEndError("media-server.sh \(verb): \(process.messages())") }
        return process.messages()
    }
}
