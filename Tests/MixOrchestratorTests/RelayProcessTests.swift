import ChildProcesses
import Foundation
import MixModel
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Starts real processes, with a shell script in the worker's place.
///
/// The tests run one after another: a process started while another test still writes its script keeps that file busy.
@Suite(.serialized) struct RelayProcessTests {
    private func script(_ text: String, in directory: String) throws -> RelayStarter {
        let path = directory + "/mixworker"
        try Data("#!/bin/sh\n\(text)\n".utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        return RelayStarter(
            worker: path, orphanTimeout: 17, logLevel: "debug",
            limits: WorkerLimits(memory: [.mixer: 99, .recorder: 0], images: "/the/images"))
    }

    @Test func theRelayGetsItsArgumentsAndNothingElse() async throws {
        try await withDirectory { directory in
            // Deliberately inheritable: a leaked listening socket would keep the port.
            let leak = open(directory + "/leak", O_CREAT | O_RDWR, 0o600)
            defer { close(leak) }
            setenv("MIXORCHESTRATOR_TEST_SECRET", "S3CRET", 1)
            defer { unsetenv("MIXORCHESTRATOR_TEST_SECRET") }
            let handler = signal(SIGHUP, SIG_IGN)
            defer { signal(SIGHUP, handler) }
            let starter = try script(
                #"echo "$@" > \#(directory)/arguments; ls /proc/$$/fd > \#(directory)/descriptors; env > \#(directory)/environment"#
                    + "; grep SigIgn /proc/$$/status > \(directory)/signals; echo hello; exit 3", in: directory)
            let socket = directory + "/relays/auto-demo.sock"
            let process = try starter.start(task: "auto-demo", socket: socket)
            let exit = try await eventually { process.exitDescription() }
            #expect(exit.contains("exited with status 3"))
            #expect(exit.contains(directory + "/relays/auto-demo.log"))
            func read(_ file: String) throws -> String {
                try String(contentsOfFile: directory + "/" + file, encoding: .utf8)
            }
            #expect(
                try read("arguments")
                    == "relay --task auto-demo --socket \(socket) --orphan-timeout 17 --log-level debug --ready-mixer "
                    + "--encoder software\n"
            )
            let descriptors = try read("descriptors").split(separator: "\n").compactMap { Int32($0) }
            #expect(!descriptors.contains(leak), "\(descriptors)")
            #expect(!(try read("environment").contains("S3CRET")))
            #expect(try read("environment").contains("MIXWORKER_MEMORY=mixer=99,recorder=0\n"))
            #expect(try read("environment").contains("MIXWORKER_IMAGES=/the/images\n"))
            // Services ignore SIGTERM and SIGINT in favour of their own handlers; a relay must not inherit that.
            let ignored = try #require(
                try read("signals").split(whereSeparator: \.isWhitespace).last.flatMap { UInt64($0, radix: 16) })
            for number in [SIGTERM, SIGINT, SIGPIPE, SIGHUP] {
                #expect(ignored & (1 << UInt64(number - 1)) == 0, "signal \(number)")
            }
            #expect(try read("relays/auto-demo.log") == "hello\n")
        }
    }

    @Test func aWorkerThatIsNotThereIsNamed() {
        let starter = RelayStarter(worker: "/nowhere/mixworker", orphanTimeout: 1, logLevel: "info")
        let error = #expect(throws: RelayError.self) { try starter.start(task: "t", socket: "/tmp/x.sock") }
        #expect(error?.description.contains("/nowhere/mixworker") == true)
        #expect(error?.description.contains("MIXORCHESTRATOR_WORKER") == true)
    }

    @Test func aRelayThatNoLongerListensIsKilledBeforeItsSuccessor() async throws {
        try await withDirectory { directory in
            let starter = try script("while true; do sleep 0.1; done", in: directory)
            let socket = directory + "/relays/t.sock"
            let process = try starter.start(task: "t", socket: socket)
            // After a restart of the service, only the file names the process.
            #expect(RelayProcessFile.runningProcess(socket: socket) == process.processID)
            #expect(RelayProcessFile.runningProcess(socket: directory + "/relays/other.sock") == nil)
            starter.killLeftover(socket: socket)
            let exit = try await eventually { process.exitDescription() }
            #expect(exit.contains("killed by signal 9"))
            #expect(RelayProcessFile.runningProcess(socket: socket) == nil)
            // A process id that now belongs to another process is left alone.
            RelayProcessFile.write(getpid(), socket: socket)
            starter.killLeftover(socket: socket)
        }
    }

    @Test func signalsReachTheRelay() async throws {
        try await withDirectory { directory in
            let starter = try script("exec sleep 60", in: directory)
            let process = try starter.start(task: "t", socket: directory + "/relays/t.sock")
            #expect(process.exitDescription() == nil)
            process.signal(SIGTERM)
            let exit = try await eventually { process.exitDescription() }
            #expect(exit.contains("killed by signal 15"))
            process.signal(SIGTERM)  // no process gets a signal after the end
        }
    }

    /// A relay that is stopped is distinguished from one that works.
    @Test func aStoppedProcessStandsStill() async throws {
        try await withDirectory { directory in
            let starter = try script("while true; do :; done", in: directory)
            let process = try starter.start(task: "t", socket: directory + "/relays/t.sock")
            defer { process.signal(SIGKILL) }
            let first = try await eventually { ProcessRun(of: process.processID) }
            let working = try await eventually {
                ProcessRun(of: process.processID).flatMap { $0.threads != first.threads && $0.isHeldUp ? $0 : nil }
            }
            #expect(!working.hasStoodStill(since: first))
            process.signal(SIGSTOP)
            let stopped = try await eventually { () async throws -> ProcessRun? in
                let earlier = ProcessRun(of: process.processID)
                try await Task.sleep(for: .milliseconds(20))
                let now = ProcessRun(of: process.processID)
                if let earlier, let now, now.hasStoodStill(since: earlier) { return now }
                return nil
            }
            process.signal(SIGCONT)
            try await eventually {
                ProcessRun(of: process.processID).flatMap { $0.threads != stopped.threads ? true : nil }
            }
            process.signal(SIGKILL)
            try await eventually { process.exitDescription() }
            #expect(ProcessRun(of: process.processID) == nil)
        }
    }
}

@Suite struct RelaySocketTests {
    @Test func pathsAreShortAndDifferent() throws {
        let sockets = try RelaySockets(directory: "/data/relays")
        #expect(sockets.path(of: "auto-demo") == "/data/relays/auto-demo.sock")
        let tasks: [TaskID] = [
            "auto-demo", "auto-Demo", "auto-de mo", "auto-../../x", "auto-ü",
            TaskID("auto-" + String(repeating: "x", count: 128)),
        ]
        let paths = tasks.map(sockets.path(of:))
        #expect(Set(paths).count == paths.count)
        for path in paths {
            #expect(path.utf8.count <= RelaySockets.longestPath)
            #expect(!path.dropFirst("/data/relays/".count).contains("/"))
        }
        #expect(throws: StartupError.self) { try RelaySockets(directory: "/" + String(repeating: "d", count: 90)) }
        let deepest = try RelaySockets(directory: "/" + String(repeating: "d", count: 77))
        for task in tasks { #expect(deepest.path(of: task).utf8.count <= RelaySockets.longestPath) }
    }

    /// Two names with the same 64-bit FNV-1a hash, such as can be found in seconds, get two sockets.
    @Test func namesThatWereMadeToMeetDoNot() throws {
        let sockets = try RelaySockets(directory: "/data/relays")
        let names = ["8yn0iYCKYHlIj4-BwPqk", "GReLUrM4wMqfg9yzV3KQ"]
        let hashes = names.map { name in
            name.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        }
        try #require(hashes[0] == hashes[1])
        #expect(sockets.path(of: TaskID(names[0])) != sockets.path(of: TaskID(names[1])))
    }

    @Test func linesAreCutWhereverTheBytesAre() throws {
        let bytes = Array("one\n\ntwo\nthree".utf8)
        for size in 1...bytes.count {
            var splitter = LineSplitter(limit: 10)
            var lines: [String] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                lines += try splitter.append(bytes[start..<min(start + size, bytes.count)]).map {
                    String(decoding: $0, as: UTF8.self)
                }
            }
            #expect(lines == ["one", "two"])
        }
        var splitter = LineSplitter(limit: 10)
        #expect(throws: RelayError.self) { try splitter.append([UInt8](repeating: 65, count: 11)) }
    }
}

@Suite struct StartupTests {
    @Test func aDataDirectoryIsUsedByOneServiceOnly() async throws {
        try await withDirectory { directory in
            let first = try DataDirectory(directory)
            let error = #expect(throws: StartupError.self) { try DataDirectory(directory) }
            #expect(error?.description.contains("another mixorchestrator") == true)
            first.release()
            try DataDirectory(directory).release()
        }
    }

    @Test func aDataDirectoryThatCannotBeMadeIsNamed() async throws {
        try await withDirectory { directory in
            try Data().write(to: URL(fileURLWithPath: directory + "/file"))
            let error = #expect(throws: StartupError.self) { try DataDirectory(directory + "/file/data") }
            #expect(error?.description.contains(directory + "/file/data") == true)
            #expect(error?.description.contains("--data") == true)
        }
    }

    @Test func aMistypedDataDirectoryIsNotCreatedToReadAStore() async throws {
        try await withDirectory { directory in
            let data = directory + "/data"
            let error = #expect(throws: StartupError.self) { try DataDirectory(data, creates: false) }
            #expect(error?.description.contains("there is no store at " + data) == true)
            #expect(!FileManager.default.fileExists(atPath: data))
            try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: false)
            try Data().write(to: URL(fileURLWithPath: StoreOpening.path(data: data)))
            try DataDirectory(data, creates: false).release()
            #expect(!FileManager.default.fileExists(atPath: data + "/relays"))
        }
    }

    @Test func whatTheWorkerLacksIsShownWithThePackage() throws {
        let answer = """
            {"healthy":false,"checked":10,"missing":[
             {"element":"rtmp2sink","purpose":"pushes","package":"gstreamer1.0-plugins-bad"}]}
            """
        let findings = WorkerCheck.findings(from: Data(answer.utf8), worker: "/w")
        #expect(findings.map(\.isGood) == [false])
        #expect(
            findings.last?.text
                == "GStreamer element rtmp2sink (pushes) is missing: apt-get install gstreamer1.0-plugins-bad")
        let healthy = WorkerCheck.findings(
            from: Data(#"{"healthy":true,"checked":10,"missing":[]}"#.utf8), worker: "/w")
        #expect(healthy.map(\.isGood) == [true])
        let open = WorkerCheck.findings(
            from: Data(#"{"healthy":true,"checked":10,"missing":[],"containment":"a mixer can read"}"#.utf8),
            worker: "/w")
        #expect(open.last == Finding(verdict: .note, text: "a mixer can read"))
        #expect(WorkerCheck.findings(from: Data(), worker: "/w").map(\.isGood) == [false])
    }

    @Test func aWorkerThatIsNotThereIsNamed() async {
        let findings = await WorkerCheck.findings(worker: "/nowhere/mixworker")
        #expect(findings.map(\.isGood) == [false])
        #expect(findings.first?.text.contains("/nowhere/mixworker") == true)
    }
}
