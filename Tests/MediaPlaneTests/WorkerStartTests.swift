import ChildProcesses
import Foundation
import ProcessContainment
import TestSupport
import Testing

/// Properties of real worker processes, as told by the kernel.
@Suite(.serialized, .timeLimit(.minutes(3))) struct WorkerStartTests {
    /// A worker with one end of a socket as its standard input, which is killed with this object.
    private final class Worker {
        let process: LaunchedProcess
        private let socket: Int32

        init(_ arguments: [String], limits: WorkerLimits = WorkerLimits()) throws {
            var ends: [Int32] = [-1, -1]
            try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
            socket = ends[0]
            defer { close(ends[1]) }
            var launch = ProcessLaunch(try WorkerStartTests.executable(), arguments)
            launch.environment = ProcessInfo.processInfo.environment.merging(limits.environment) { $1 }
            launch.input = .descriptor(ends[1])
            launch.output = .null
            launch.errors = .null
            process = try launch.start()
        }

        deinit {
            process.signal(SIGKILL)
            process.waitForExit()
            close(socket)
        }

        func read(_ file: String) -> String {
            (try? String(contentsOfFile: "/proc/\(process.processID)/\(file)", encoding: .utf8)) ?? ""
        }

        /// Returns a field of `status`, such as `NoNewPrivs`.
        func status(_ name: String) -> String? {
            read("status").split(separator: "\n").first { $0.hasPrefix(name + ":") }?
                .split(whereSeparator: \.isWhitespace).last.map(String.init)
        }

        /// Returns the soft and hard limit of this name in `limits`.
        func limit(_ name: String) -> [String] {
            let line = read("limits").split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
            return line.dropFirst(name.count).split(whereSeparator: \.isWhitespace).prefix(2).map(String.init)
        }

        /// Niceness of each thread, proc_pid_stat(5), by its name.
        var niceness: [(thread: String, value: Int)] {
            let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.processID)/task")) ?? []
            return tasks.compactMap { task in
                let text = read("task/\(task)/stat")
                guard let open = text.firstIndex(of: "("), let close = text.lastIndex(of: ")") else { return nil }
                let fields = text[close...].split(separator: " ").dropFirst()
                return Int(fields.dropFirst(16).first ?? "").map { (String(text[open...close]), $0) }
            }
        }
    }

    /// The tests may run at a lower priority.
    private static let ownNiceness = Int(getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0))

    /// Soft and hard limit of this process.
    private static var ownDescriptors: [String] {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return ["\(limit.rlim_cur)", "\(limit.rlim_max)"]
    }

    static func executable() throws -> String {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(filePath: own).deletingLastPathComponent().appending(path: "mixworker").path
    }

    /// Kinds on which all programs of a machine depend.
    private static let first: [WorkerKind] = [.relay, .ingest]

    @Test(arguments: WorkerKind.allCases.filter { !first.contains($0) })
    func eachHasItsLimitsPriorityAndPlaceAmongTheDying(kind: WorkerKind) async throws {
        let socket = FileManager.default.temporaryDirectory.appending(
            path: "start-\(UInt32.random(in: 0 ... .max)).sock")
        defer { try? FileManager.default.removeItem(at: socket) }
        let arguments = [.whip, .whep, .page].contains(kind) ? ["--socket", socket.path] : []
        let worker = try Worker([kind.rawValue] + arguments, limits: WorkerLimits(memory: [kind: 700]))
        let isContained = [.mixer, .rendition, .pull, .push, .whip, .whep, .thumbnail].contains(kind)
        try await until {
            worker.limit("Max core file size") == ["0", "0"] && worker.niceness.count > 1
                && (!isContained || worker.status("Seccomp") == "2")
        }
        #expect(worker.read("oom_score_adj") == "\(kind.memoryShortage)\n")
        #expect(worker.limit("Max data size") == ["\(700 << 20)", "\(700 << 20)"])
        if let descriptors = kind.descriptors {
            #expect(worker.limit("Max open files") == ["\(descriptors)", "\(descriptors)"])
        }
        let niceness = worker.niceness
        let wanted = max(Self.ownNiceness, Int(kind.niceness))
        #expect(niceness.allSatisfy { $0.value == wanted }, "\(niceness)")
        #expect(worker.status("NoNewPrivs") == (isContained ? "1" : "0"))
        let capabilities = UInt64(worker.status("CapEff") ?? "", radix: 16)
        if isContained { #expect(capabilities == 0) }
        // libdispatch resets the niceness of a process that is allowed to lower it.
        #expect(capabilities.map { $0 & 1 << Self.niceCapability } == 0)
    }

    /// `CAP_SYS_NICE`, capabilities(7).
    private static let niceCapability: UInt64 = 23

    @Test(arguments: first)
    func whatIsOnAirKeepsItsPlaceAndPutsItsSocketsFirst(kind: WorkerKind) async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "start-\(UInt32.random(in: 0 ... .max)).sock")
        let worker = try Worker(
            [kind.rawValue, "--socket", path.path] + (kind == .relay ? ["--task", "t"] : []),
            limits: WorkerLimits(memory: kind == .ingest ? [.ingest: 700] : [:]))
        defer { try? FileManager.default.removeItem(at: path) }
        try await until { FileManager.default.fileExists(atPath: path.path) }
        #expect(worker.read("oom_score_adj") == "\(kind.memoryShortage)\n")
        let memory = (kind == .ingest ? 700 : kind.defaultMemory) << 20
        #expect(worker.limit("Max data size") == ["\(memory)", "\(memory)"])
        #expect(worker.limit("Max core file size") == ["0", "0"])
        // The worker may open as many files as the service, because every publisher and player needs one.
        #expect(kind.descriptors == nil && worker.limit("Max open files") == Self.ownDescriptors)
        // A different niceness is set by libdispatch itself, if it may.
        let wanted = Self.ownNiceness - (geteuid() == 0 ? 4 : 0)
        try await until { worker.niceness.contains { $0.value == wanted && !$0.thread.contains("overcommit") } }
    }

    @Test func aContainedProcessIsRefusedWhatItDoesNotNeed() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "trial-\(UInt32.random(in: 0 ... .max))")
        try Data("secret".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let listener = try LoopbackListener()
        defer { close(listener.descriptor) }
        let images = FileManager.default.temporaryDirectory.appending(path: "images-\(UInt32.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: images, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: images) }
        let image = images.appending(path: "logo.png").path
        try Data().write(to: URL(filePath: image))
        let arguments = ["trial", "--file", file.path, "--port", "\(listener.port)", "--image", image]
        var launch = ProcessLaunch(try Self.executable(), arguments)
        launch.environment = ProcessInfo.processInfo.environment
            .merging(WorkerLimits(images: images.path).environment) { $1 }
        let answer = try await withCheckedThrowingContinuation { [launch] continuation in
            DispatchQueue.global().async {
                continuation.resume(with: Result { try launch.run(collecting: \.output) })
            }
        }
        #expect(answer.exit == .status(0))
        let trial = try JSONDecoder().decode(ContainmentTrial.self, from: Data(answer.bytes))
        print(trial.attempts.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: "\n"))
        print(trial.outcome.warning ?? "everything is in force")
        #expect(trial.attempts.count == 12)
        #expect(trial.outcome[.calls] == nil && trial.outcome[.privileges] == nil)
        #expect(trial.losses.isEmpty, "\(trial.needs)")
        // Without Landlock, which a kernel may lack, files stay open; the outcome says so.
        let files: Set = [
            "read a file", "write a file", "create a file", "list a directory", "remove a file", "read a system file",
            "read the parent's environment",
        ]
        #expect(trial.breaches.filter { trial.outcome[.files] == nil || !files.contains($0) }.isEmpty)
        #expect(try String(contentsOf: file, encoding: .utf8) == "secret")
        // The same attempts succeed here, which shows that the trial can fail.
        let other = file.path + ".other"
        try Data().write(to: URL(filePath: other))
        let free = ContainmentTrial.run(
            file: other, port: UInt16(listener.port), image: image, outcome: Containment.Outcome())
        try? FileManager.default.removeItem(atPath: other + ".new")
        #expect(free.breaches.count == 12, "\(free.attempts)")
    }
}
