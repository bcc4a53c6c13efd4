import ChildProcesses
import Foundation

/// A child process of a test: its messages go to a file, and it ends with the test.
final class ManagedProcess: Sendable {
    let name: String
    let log: URL
    private let process: LaunchedProcess

    /// - Parameter executable: A path, or a name looked up in PATH.
    init(
        _ name: String, _ executable: String, _ arguments: [String], in directory: URL,
        environment: [String: String] = [:]
    ) throws {
        self.name = name
        log = directory.appendingPathComponent("\(name).log")
        var launch = ProcessLaunch(executable, arguments)
        launch.environment = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
        launch.output = .file(log.path, truncates: true)
        launch.errors = .output
        process = try launch.start()
    }

    deinit { kill9() }

    var identifier: Int32 { process.processID }
    var isRunning: Bool { process.isRunning }
    /// The exit status, or the signal that ended the process.
    var exitStatus: Int32? {
        switch process.exit {
        case .status(let code), .signal(let code): code
        case .unknown: -1
        case nil: nil
        }
    }

    /// Returns the last `lines` lines of its output.
    func messages(last lines: Int = 60) -> String {
        Self.text(of: log.path).split(separator: "\n").suffix(lines).joined(separator: "\n")
    }

    /// Returns the content of a log; empty if there is none. A character whose last bytes are not written yet, and any
    /// other byte that is not UTF-8, is replaced by U+FFFD.
    static func text(of path: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }

    /// Asks the process to end, and kills it at the deadline.
    func stop(within seconds: Double = 15) async {
        guard process.isRunning else { return }
        process.signal(SIGTERM)
        do {
            try await waitUntil("\(name) ends", within: seconds) { !self.process.isRunning }
        } catch {
            process.signal(SIGKILL)
            try? await waitUntil("\(name) is killed", within: 30) { !self.process.isRunning }
        }
    }

    /// Kills the process. It is always reaped, because exit tests wait for ever beside an unreaped child.
    func kill9() {
        guard process.isRunning else { return }
        process.signal(SIGKILL)
        process.onExit { _ in }
    }
}

/// The system's table of processes (`/proc`).
enum ProcessTable {
    struct Entry: Sendable {
        var identifier: Int32
        /// The parent process. A mixer's parent is its relay, even if a fork server has started it.
        var parent: Int32
        var arguments: [String]
        /// The parent process according to the system.
        fileprivate var maker: Int32
    }

    /// Returns every process, except children that have not started their own program yet: until then they have the
    /// arguments of their parent, and would be mistaken for another process of its kind.
    static func entries() -> [Entry] {
        let all = read()
        let arguments = Dictionary(all.map { ($0.identifier, $0.arguments) }) { first, _ in first }
        let makers = Set(all.map(\.maker))
        return all.filter { arguments[$0.maker] != $0.arguments || makers.contains($0.identifier) }
    }

    private static func read() -> [Entry] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { name in
            guard let identifier = Int32(name), let stat = FileManager.default.contents(atPath: "/proc/\(name)/stat"),
                let command = FileManager.default.contents(atPath: "/proc/\(name)/cmdline")
            else { return nil }
            // The name in parentheses may itself contain spaces and parentheses.
            let fields = String(decoding: stat, as: UTF8.self).split(separator: ")").last?.split(separator: " ") ?? []
            guard fields.count > 1, fields[0] != "Z", let parent = Int32(fields[1]) else { return nil }
            let arguments = String(decoding: command, as: UTF8.self).split(separator: "\0").map(String.init)
            let relay = arguments.firstIndex(of: "--relay").flatMap { Int32(arguments.dropFirst($0 + 1).first ?? "") }
            return Entry(identifier: identifier, parent: relay ?? parent, arguments: arguments, maker: parent)
        }
    }

    /// Returns the children of a process, and all of their descendants.
    static func descendants(of ancestor: Int32) -> [Entry] {
        let all = entries()
        var found: [Entry] = []
        var parents: Set<Int32> = [ancestor]
        while true {
            let next = all.filter { entry in
                parents.contains(entry.parent) && !found.contains { $0.identifier == entry.identifier }
            }
            if next.isEmpty { return found }
            found += next
            parents = Set(next.map(\.identifier))
        }
    }

    static func threads(of process: Int32) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task").count) ?? 0
    }

    static func descriptors(of process: Int32) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count) ?? 0
    }

    /// Returns the resident memory in kB.
    static func resident(of process: Int32) -> Int {
        let status = FileManager.default.contents(atPath: "/proc/\(process)/status") ?? Data()
        let line = String(decoding: status, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("VmRSS") }
        return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
    }
}
