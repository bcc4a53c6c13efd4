import ChildProcesses
import Foundation
import Testing

/// Launches of real processes of a shell.
@Suite(.serialized) struct ProcessLaunchTests {
    private func shell(_ script: String) -> ProcessLaunch { ProcessLaunch("/bin/sh", ["-c", script]) }

    private func lines(_ bytes: [UInt8]) -> [String] {
        String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test func theOutputAskedForIsCollectedToItsEnd() throws {
        var launch = shell("head -c 200000 /dev/zero; echo complaint >&2; exit 7")
        launch.errors = .null
        let (bytes, exit) = try launch.run(collecting: \.output)
        #expect(bytes.count == 200_000)
        #expect(exit == .status(7))
        launch = shell("echo nothing; echo complaint >&2; kill -9 $$")
        launch.output = .null
        let (complaint, end) = try launch.run(collecting: \.errors)
        #expect(lines(complaint) == ["complaint"])
        #expect(end == .signal(9))
    }

    @Test func noDescriptorIsInherited() throws {
        // These descriptors are inheritable on purpose.
        let leaks = (0..<3).map { _ in open("/dev/null", O_RDONLY) }
        defer { for leak in leaks { close(leak) } }
        let (bytes, _) = try shell("exec 2>/dev/null; ls /proc/$$/fd").run(collecting: \.output)
        #expect(lines(bytes).sorted() == ["0", "1", "2"])
    }

    @Test func noSignalIsBlockedOrIgnored() throws {
        let before = signal(SIGUSR2, SIG_IGN)
        defer { signal(SIGUSR2, before) }
        var blocked = sigset_t()
        var own = sigset_t()
        sigemptyset(&blocked)
        sigaddset(&blocked, SIGTERM)
        pthread_sigmask(SIG_BLOCK, &blocked, &own)
        defer { pthread_sigmask(SIG_SETMASK, &own, nil) }
        // A shell would block signals while it waits.
        let launch = ProcessLaunch("grep", ["-E", "SigBlk|SigIgn", "/proc/self/status"])
        let (bytes, _) = try launch.run(collecting: \.output)
        let masks = lines(bytes).compactMap { $0.split(separator: "\t").last.flatMap { UInt64($0, radix: 16) } }
        // Signals 32 and 33 are the C library's own.
        #expect(masks.map { $0 & ~(3 << 31) } == [0, 0])
    }

    @Test func aGroupIsLedOnlyWhereItIsWanted() throws {
        // The fields are the shell's process and its process group.
        var launch = shell("cut -d' ' -f1,5 /proc/$$/stat")
        let (own, _) = try launch.run(collecting: \.output)
        let words = try #require(lines(own).first).split(separator: " ")
        #expect(words.count == 2 && words[0] == words[1])
        launch.leadsGroup = false
        let (shared, _) = try launch.run(collecting: \.output)
        #expect(lines(shared).first?.split(separator: " ").last == "\(getpgrp())")
    }

    @Test func theEnvironmentIsReplacedOrInherited() throws {
        setenv("CHILD_PROCESSES_TEST", "inherited", 1)
        defer { unsetenv("CHILD_PROCESSES_TEST") }
        var launch = shell("echo $CHILD_PROCESSES_TEST")
        #expect(lines(try launch.run(collecting: \.output).bytes) == ["inherited"])
        launch.environment = ["CHILD_PROCESSES_TEST": "own"]
        #expect(lines(try launch.run(collecting: \.output).bytes) == ["own"])
    }

    @Test func aFileIsAppendedToOrTruncated() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "launch-\(UUID().uuidString).log")
        defer { try? FileManager.default.removeItem(at: file) }
        var launch = shell("echo one; echo two >&2")
        launch.errors = .output
        for truncates in [false, false, true] {
            launch.output = .file(file.path, truncates: truncates)
            #expect(try launch.start().waitForExit() == .status(0))
        }
        #expect(try String(contentsOf: file, encoding: .utf8) == "one\ntwo\n")
        let permissions = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(permissions == 0o600)
    }

    @Test func aSocketAsInputIsReadToItsEnd() throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        var launch = ProcessLaunch("cat")
        launch.input = .descriptor(ends[1])
        launch.output = .descriptor(ends[1])
        let process = try launch.start()
        close(ends[1])
        #expect(write(ends[0], "hello", 5) == 5)
        shutdown(ends[0], Int32(SHUT_WR))
        var bytes = [UInt8](repeating: 0, count: 16)
        #expect(read(ends[0], &bytes, 16) == 5)
        #expect(read(ends[0], &bytes, 16) == 0)
        close(ends[0])
        #expect(process.waitForExit() == .status(0))
    }

    @Test func whatCannotBeStartedIsNamed() {
        let failure = #expect(throws: ProcessLaunch.Failure.self) { try ProcessLaunch("/nowhere/program").start() }
        #expect(failure?.code == ENOENT)
        #expect(failure?.description == "/nowhere/program cannot be started: No such file or directory")
    }

    @Test func anEndIsToldToEverybodyWhoAsks() async throws {
        let process = try ProcessLaunch("sleep", ["60"]).start()
        #expect(process.exit == nil && process.isRunning)
        async let first = withCheckedContinuation { continuation in
            process.onExit { continuation.resume(returning: $0) }
        }
        async let second = withCheckedContinuation { continuation in
            process.onExit { continuation.resume(returning: $0) }
        }
        process.signal(SIGTERM)
        #expect(await [first, second] == [.signal(SIGTERM), .signal(SIGTERM)])
        #expect(process.exit == .signal(SIGTERM) && !process.isRunning)
        #expect(process.waitForExit() == .signal(SIGTERM))
        // The identifier may belong to another process by now.
        process.signal(SIGKILL)
    }
}
