import Foundation
import Synchronization
import TestSupport

/// A private nginx with the RTMP module whose application `live` reports its publishers, as configured in the
/// documentation.
struct HookingMediaServer {
    let port: Int
    private let directory: URL
    private let process: ManagedProcess

    func live(_ name: String) -> String { "rtmp://127.0.0.1:\(port)/live/\(name)" }
    var isRunning: Bool { process.isRunning }

    private static let given = Mutex<Set<Int>>([])
    /// A lock file that all test processes of this user share: a process that has locked byte n owns port n until it
    /// ends.
    private static let book: Int32 = {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("mix-ports-\(getuid())").path
        return Foundation.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    }()

    /// Returns a port for a server that is started later: it has no listener, and neither this process nor another one
    /// that runs tests hands it out again. It is below the system's range for connections, and apart from those of
    /// `deploy/media-server.sh`.
    static func anyPort() -> Int {
        while true {
            let port = Int.random(in: 10_000..<20_000)
            if reserve(port), isFree(port) { return port }
        }
    }

    /// Reserves a port for this process. Returns false if it, or another process, has done so before.
    private static func reserve(_ port: Int) -> Bool {
        given.withLock { given in
            guard given.insert(port).inserted else { return false }
            // Without the file, ports are still unique within this process.
            guard book >= 0 else { return true }
            return lseek(book, off_t(port), SEEK_SET) >= 0 && lockf(book, Int32(F_TLOCK), 1) == 0
        }
    }

    /// Returns whether a server listens on a port of 127.0.0.1 over TCP.
    static func isServed(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        return LoopbackListener.connect(descriptor, to: port)
    }

    /// Returns whether a server could now listen on a port of 127.0.0.1, over TCP and over UDP.
    private static func isFree(_ port: Int) -> Bool {
        [SOCK_STREAM, SOCK_DGRAM].allSatisfy { kind in
            let descriptor = socket(AF_INET, Int32(kind.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            defer { close(descriptor) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            address.sin_port = UInt16(port).bigEndian
            return withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
        }
    }

    /// Returns the configuration in a document of the project, from its first block in that language.
    static func snippet(_ language: String, of document: String) throws -> String {
        let text = try String(contentsOf: Workspace.root.appendingPathComponent(document), encoding: .utf8)
        guard let start = text.firstRange(of: "```\(language)\n")?.upperBound,
            let end = text[start...].firstRange(of: "```")?.lowerBound
        else { throw EndToEndError("\(document) has no block of \(language)") }
        return String(text[start..<end])
    }

    /// Starts nginx.
    ///
    /// - Parameters:
    ///   - application: The block `application live { … }`.
    ///   - name: Name of the process's directory.
    ///   - stat: Port of the statistics, if any.
    static func start(
        in stage: URL, port: Int, application: String, name: String, stat: Int? = nil
    ) async throws -> HookingMediaServer {
        let directory = stage.appendingPathComponent(name)
        try FileManager.default.createDirectory(
            at: directory.appendingPathComponent("tmp"), withIntermediateDirectories: true)
        let modules = ["/usr/lib/nginx/modules/ngx_rtmp_module.so", "/usr/share/nginx/modules/ngx_rtmp_module.so"]
        guard let module = modules.first(where: { FileManager.default.fileExists(atPath: $0) }) else {
            throw EndToEndError("nginx has no RTMP module: run deploy/setup.sh --nginx")
        }
        let statistics = stat.map { port in
            """
            http { access_log off; client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp;
            uwsgi_temp_path tmp; scgi_temp_path tmp;
            server { listen 127.0.0.1:\(port); location = /stat { rtmp_stat all; } } }
            """
        }
        let configuration = """
            \(getuid() == 0 ? "user root;" : "")
            load_module \(module);
            worker_processes 1;
            daemon off;
            pid \(directory.path)/nginx.pid;
            error_log \(directory.path)/error.log info;
            events { worker_connections 512; }
            rtmp { server { listen 127.0.0.1:\(port); chunk_size 65536;
            \(application)
            } }
            \(statistics ?? "")
            """
        let file = directory.appendingPathComponent("nginx.conf")
        try configuration.write(to: file, atomically: true, encoding: .utf8)
        let process = try ManagedProcess(
            name, "/usr/sbin/nginx",
            ["-p", directory.path, "-e", directory.appendingPathComponent("error.log").path, "-c", file.path],
            in: stage)
        try await waitUntil("nginx listens\n\(process.messages())") {
            guard process.isRunning else { throw EndToEndError("nginx ended: \(process.messages())") }
            return FileManager.default.fileExists(atPath: directory.path + "/nginx.pid")
        }
        return HookingMediaServer(port: port, directory: directory, process: process)
    }

    func stop() async { await process.stop() }
    /// Kills nginx with its workers, without notice to any peer.
    func kill() async throws {
        let workers = ProcessTable.descendants(of: process.identifier)
        process.kill9()
        for worker in workers { Foundation.kill(worker.identifier, SIGKILL) }
        // Workers hold the port too.
        let gone = Set(workers.map(\.identifier))
        try await waitUntil("nginx is gone") {
            !process.isRunning && !ProcessTable.entries().contains { gone.contains($0.identifier) }
        }
    }

    /// Log lines of nginx about its callbacks.
    var log: String {
        ManagedProcess.text(of: directory.appendingPathComponent("error.log").path)
    }
}
