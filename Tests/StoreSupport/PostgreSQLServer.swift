import Foundation
import Synchronization
import TestSupport

/// A PostgreSQL server for the tests, with its own directory and port. Its processes end with the test process.
///
/// PostgreSQL refuses to run as root. In that case the server belongs to the user `postgres`, or else `nobody`.
public final class PostgreSQLServer: Sendable {
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    /// The directory of `initdb` and `postgres`; `nil` if the server is not installed.
    public static let binaries: String? = {
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        let places = versions.sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }.map { "/usr/lib/postgresql/\($0)/bin" }
        return (places + ["/usr/local/pgsql/bin", "/usr/bin"]).first {
            FileManager.default.isExecutableFile(atPath: $0 + "/initdb")
        }
    }()
    public static let isInstalled = binaries != nil
    public static let missing = "PostgreSQL's server is not installed: deploy/setup.sh --tests"

    /// The server that all tests of the process share, started at first use.
    public static let shared = Result { try PostgreSQLServer() }

    public static let user = "mix"
    /// A password that must not appear in any message or log.
    public static let password = "s3cret-0f-th3-t3sts"

    public let directory: String
    public var port: Int { reserved.number }
    let data: String
    // The port is reserved because the server starts long after, and again after a crash, while clients try to connect.
    private let reserved: ReservedPort
    let process = Mutex<Int32?>(nil)

    /// Creates a database cluster with the user `mix` and the database `mix`, and starts it.
    ///
    /// - Parameter copying: The primary, if this server is to be a standby.
    public init(copying primary: PostgreSQLServer? = nil) throws {
        guard let binaries = Self.binaries else { throw Failure(description: Self.missing) }
        directory = "/tmp/pgtest-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
        data = directory + "/data"
        reserved = try ReservedPort()
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        if let owner = Self.owner, chown(directory, owner.user, owner.group) != 0 {
            throw Failure(description: "cannot give \(directory) to another user")
        }
        if let primary {
            try Self.run([
                binaries + "/pg_basebackup", "-h", primary.directory, "-p", "\(primary.port)", "-U", "postgres", "-D",
                data, "-R", "-X", "stream", "-c", "fast",
            ])
        } else {
            try Self.run([
                binaries + "/initdb", "-D", data, "-U", "postgres", "-E", "UTF8", "--locale=C", "--auth-local=trust",
                "--auth-host=scram-sha-256", "--no-sync",
            ])
        }
        try start()
        guard primary == nil else { return }
        try sql("CREATE ROLE \(Self.user) LOGIN PASSWORD '\(Self.password)'")
        try sql("CREATE DATABASE \(Self.user) OWNER \(Self.user)")
    }

    deinit { remove() }

    /// Returns a URL of the database. The tables are in `schema`, which exists already if it comes from `makeSchema`.
    public func url(
        port: Int? = nil, user: String = user, password: String? = password, database: String = user,
        schema: String? = nil
    ) -> String {
        let secret = password.map { ":\($0)" } ?? ""
        let options = schema.map { "?options=-csearch_path%3D\($0)" } ?? ""
        return "postgresql://\(user)\(secret)@127.0.0.1:\(port ?? self.port)/\(database)\(options)"
    }

    /// Creates a schema for a test. Returns its name.
    public func makeSchema() throws -> String {
        let name = "s\(String(UInt64.random(in: 0 ... .max), radix: 36))"
        try sql("CREATE SCHEMA \(name) AUTHORIZATION \(Self.user)", database: Self.user)
        return name
    }

    /// Runs a statement as the server's owner. Returns the output.
    @discardableResult
    public func sql(_ statement: String, database: String = "postgres") throws -> String {
        try Self.run([
            (Self.binaries ?? "") + "/psql", "-h", directory, "-p", "\(port)", "-U", "postgres", "-d", database, "-q",
            "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statement,
        ])
    }

    /// Runs one of the server's programs, such as `pg_dump`, as the server's user. Returns the output.
    @discardableResult
    public static func tool(_ name: String, _ arguments: [String]) throws -> String {
        try run([(binaries ?? "") + "/" + name] + arguments)
    }

    /// Starts the server and waits until it accepts connections.
    public func start() throws {
        let arguments = [
            (Self.binaries ?? "") + "/postgres", "-D", data, "-p", "\(port)", "-c", "listen_addresses=127.0.0.1", "-c",
            "unix_socket_directories=\(directory)", "-c", "max_connections=300", "-c", "shared_buffers=64MB",
            "-c", "max_wal_senders=4", "-c", "logging_collector=off",
        ]
        let started = DispatchSemaphore(value: 0)
        let (log, server) = (directory + "/log", Child(Self.asOwner(arguments, dyingWithParent: true)))
        // The server ends with the thread that starts it, so the thread waits for its end.
        Thread {
            server.run(output: log) { started.signal() }
        }.start()
        started.wait()
        process.withLock { $0 = server.pid }
        Self.running.withLock { $0[directory] = server.pid }
        for _ in 0..<600 {
            if (try? sql("SELECT 1")) != nil { return }
            Thread.sleep(forTimeInterval: 0.1)
        }
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        throw Failure(description: "the server does not start: \(text.suffix(500))")
    }

    /// Kills all processes of the server, as a crash of the machine would, except that the disk keeps its contents.
    ///
    /// Returns when they have ended, because the next server refuses to start while one of them holds the shared
    /// memory.
    public func crash() {
        guard let pid = process.withLock({ $0 }) else { return }
        // The postmaster is stopped first, so that it starts no child after they were listed.
        kill(pid, SIGSTOP)
        let text = (try? String(contentsOfFile: "/proc/\(pid)/task/\(pid)/children", encoding: .utf8)) ?? ""
        let children = text.split(separator: " ").compactMap { Int32($0) }
        for child in children { kill(child, SIGKILL) }
        kill(pid, SIGKILL)
        process.withLock { $0 = nil }
        Self.running.withLock { $0[directory] = nil }
        while kill(pid, 0) == 0 { Thread.sleep(forTimeInterval: 0.01) }
        for _ in 0..<1000 where children.contains(where: Self.isAlive) { Thread.sleep(forTimeInterval: 0.01) }
    }

    /// Returns whether a process is still running. A zombie is not.
    private static func isAlive(_ pid: Int32) -> Bool {
        guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return false }
        return !text.contains(") Z ") && !text.contains(") X ")
    }

    /// Stops or continues all processes of the server.
    public func freeze(_ isFrozen: Bool) {
        guard let pid = process.withLock({ $0 }) else { return }
        let children = (try? String(contentsOfFile: "/proc/\(pid)/task/\(pid)/children", encoding: .utf8)) ?? ""
        for process in [pid] + children.split(separator: " ").compactMap({ Int32($0) }) {
            kill(process, isFrozen ? SIGSTOP : SIGCONT)
        }
    }

    /// Ends the server and removes its directory.
    public func remove() {
        crash()
        try? FileManager.default.removeItem(atPath: directory)
    }

    // MARK: Processes

    /// The running servers by their directories, for the end of the test process.
    private static let running: Mutex<[String: Int32]> = {
        atexit { PostgreSQLServer.endAll() }
        return Mutex([:])
    }()

    private static func endAll() {
        for (directory, pid) in running.withLock({ $0 }) {
            kill(pid, SIGQUIT)
            for _ in 0..<50 where kill(pid, 0) == 0 { usleep(20_000) }
            try? FileManager.default.removeItem(atPath: directory)
        }
    }

    private static let owner: (user: uid_t, group: gid_t)? = {
        guard getuid() == 0, let entry = getpwnam("postgres") ?? getpwnam("nobody") else { return nil }
        return (entry.pointee.pw_uid, entry.pointee.pw_gid)
    }()

    private static func asOwner(_ arguments: [String], dyingWithParent: Bool = false) -> [String] {
        var command = ["/usr/bin/setpriv"]
        if let owner { command += ["--reuid=\(owner.user)", "--regid=\(owner.group)", "--clear-groups"] }
        if dyingWithParent { command += ["--pdeathsig", "QUIT"] }
        return command + arguments
    }

    /// Runs a program as the server's user. Returns its output.
    @discardableResult
    static func run(_ arguments: [String]) throws -> String {
        let child = Child(asOwner(arguments))
        let output = child.output()
        guard child.status == 0 else {
            throw Failure(description: "\(arguments.joined(separator: " ")): \(output.suffix(1000))")
        }
        return output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// A program that runs as a child process, and its end.
    private final class Child: Sendable {
        private let process = Process()
        var pid: Int32 { process.processIdentifier }
        var status: Int32 { process.terminationStatus }

        init(_ arguments: [String]) {
            process.executableURL = URL(fileURLWithPath: arguments[0])
            process.arguments = Array(arguments.dropFirst())
            process.currentDirectoryURL = URL(fileURLWithPath: "/tmp")
            process.standardInput = FileHandle.nullDevice
            var environment = ProcessInfo.processInfo.environment
            for name in environment.keys where name.hasPrefix("PG") || name.hasPrefix("LC_") { environment[name] = nil }
            process.environment = environment.merging(["LC_ALL": "C"]) { $1 }
        }

        func output() -> String {
            let pipe = Pipe()
            process.standardOutput = pipe
            process.standardError = pipe
            guard (try? process.run()) != nil else { return "cannot be run" }
            let data = pipe.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            return String(decoding: data, as: UTF8.self)
        }

        func run(output path: String, _ whenStarted: () -> Void) {
            _ = FileManager.default.createFile(atPath: path, contents: nil)
            let file = FileHandle(forWritingAtPath: path)
            process.standardOutput = file
            process.standardError = file
            _ = try? process.run()
            whenStarted()
            process.waitUntilExit()
        }
    }
}
