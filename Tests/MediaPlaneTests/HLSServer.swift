import Foundation
import Synchronization
import TestSupport
import Testing

/// An nginx that serves its own directory. `/moved/` redirects to `/`, `/redirect.m3u8` to another network.
final class HLSServer: Sendable {
    private let root = FileManager.default.temporaryDirectory.appending(path: "hls-\(UInt32.random(in: 0 ... .max))")
    private let port: UInt16
    private let reserved: ReservedPort
    private let process = Mutex<PullSender?>(nil)

    var url: String { "http://127.0.0.1:\(port)" }

    init() async throws {
        reserved = try ReservedPort()
        port = UInt16(reserved.number)
        try FileManager.default.createDirectory(at: root.appending(path: "www"), withIntermediateDirectories: true)
        let settings = """
            daemon off;
            master_process off;
            pid \(root.path)/pid;
            error_log \(root.path)/errors;
            events {}
            http {
                access_log off;
                client_body_temp_path \(root.path)/body;
                proxy_temp_path \(root.path)/proxy;
                fastcgi_temp_path \(root.path)/fastcgi;
                uwsgi_temp_path \(root.path)/uwsgi;
                scgi_temp_path \(root.path)/scgi;
                server {
                    listen 127.0.0.1:\(port);
                    root \(root.path)/www;
                    location /moved/ { rewrite ^/moved(/.*)$ $1 redirect; }
                    location = /counts { stub_status; }
                    location = /redirect.m3u8 { return 302 http://10.1.2.3/x.m3u8; }
                }
            }
            """
        try Data(settings.utf8).write(to: root.appending(path: "conf"))
        try await start()
    }

    deinit { try? FileManager.default.removeItem(at: root) }

    func start() async throws {
        let sender = try PullSender("/usr/sbin/nginx", ["-c", "\(root.path)/conf", "-p", root.path])
        process.withLock { $0 = sender }
        #expect(try await outputEventually { PullSender.isListening(port) }, "\(errors)")
    }

    func stop() { process.withLock { $0.take() }?.stop() }

    private var errors: String { (try? String(contentsOf: root.appending(path: "errors"), encoding: .utf8)) ?? "" }

    /// Returns the numbers of connections and requests so far.
    func counts() async throws -> (connections: Int, requests: Int) {
        let file = root.appending(path: "counts").path
        #expect(try await outputTool("/usr/bin/env", ["curl", "-s", "-o", file, "\(url)/counts"]) == 0)
        // The third line: accepted, handled, requests.
        let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
        let numbers = try #require(lines.count > 2 ? lines[2].split(separator: " ").compactMap { Int($0) } : nil)
        try #require(numbers.count == 3)
        return (numbers[0], numbers[2])
    }

    func path(_ name: String) -> String { root.appending(path: "www/\(name)").path }
    func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: path(name)) }
    func write(_ name: String, _ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(filePath: path(name))) }

    func makeDirectory(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: path(name), withIntermediateDirectories: true)
    }
}
