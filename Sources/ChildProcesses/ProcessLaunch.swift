import Foundation
import Synchronization

/// A program to start as a process of its own.
///
/// The process inherits no descriptor except the three standard ones, no blocked or ignored signal and, unless
/// requested, not the process group.
public struct ProcessLaunch: Sendable {
    /// The target of one of the three standard descriptors.
    public enum Stream: Hashable, Sendable {
        /// Nothing: no input, or output that is discarded.
        case null
        /// The target of this process's own descriptor.
        case inherited
        /// An open descriptor, which stays the caller's.
        case descriptor(Int32)
        /// A file that is created if needed and appended to, readable by its owner only.
        ///
        /// - Parameter truncates: Whether the file is emptied first.
        case file(String, truncates: Bool)
        /// For standard error: the target of standard output.
        case output
    }

    /// The reason that a program was not started.
    public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        public let executable: String
        /// The system's error number.
        public let code: Int32

        public var description: String { "\(executable) cannot be started: \(String(cString: strerror(code)))" }
    }

    /// Path of the program. A name without a slash is looked up in `PATH`.
    public var executable: String
    /// Arguments after the program's name.
    public var arguments: [String]
    /// The environment; `nil` means that of this process.
    public var environment: [String: String]?
    public var input = Stream.null
    public var output = Stream.inherited
    public var errors = Stream.inherited
    /// Whether the process leads a new process group, which a terminal's SIGINT does not reach. The leader of a group
    /// cannot begin a session of its own.
    public var leadsGroup = true

    public init(_ executable: String, _ arguments: [String] = []) {
        self.executable = executable
        self.arguments = arguments
    }

    /// Starts the process. The caller must wait for its end with one of the methods of `LaunchedProcess`.
    public func start() throws(Failure) -> LaunchedProcess {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (descriptor, stream) in [(0, input), (1, output), (2, errors)] as [(Int32, Stream)] {
            Self.direct(descriptor, to: stream, &actions)
        }

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Swift's and Dispatch's threads block most signals, and a child inherits the mask of the thread that starts it:
        // SIGTERM would never reach it.
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (leadsGroup ? POSIX_SPAWN_SETPGROUP : 0)
        posix_spawnattr_setflags(&attributes, Int16(flags))

        let variables = (environment ?? ProcessInfo.processInfo.environment).map { "\($0.key)=\($0.value)" }
        var identifier: pid_t = 0
        let result = Self.launching.withLock { _ in
            for descriptor in Self.openDescriptors() where descriptor > 2 {
                posix_spawn_file_actions_addclose(&actions, descriptor)
            }
            return Self.withCStrings([executable] + arguments) { arguments in
                Self.withCStrings(variables) { variables in
                    posix_spawnp(&identifier, executable, &actions, &attributes, arguments, variables)
                }
            }
        }
        guard result == 0 else { throw Failure(executable: executable, code: result) }
        return LaunchedProcess(identifier)
    }

    /// Runs the process to its end and returns the data that it writes to one of its outputs. Blocks.
    ///
    /// - Parameter stream: `\.output` or `\.errors`.
    public func run(
        collecting stream: WritableKeyPath<ProcessLaunch, Stream>
    ) throws(Failure) -> (bytes: [UInt8], exit: ProcessExit) {
        let pipe = Self.pipe()
        var launch = self
        launch[keyPath: stream] = .descriptor(pipe.fileHandleForWriting.fileDescriptor)
        let process = try launch.start()
        try? pipe.fileHandleForWriting.close()
        let bytes = [UInt8](pipe.fileHandleForReading.readDataToEndOfFile())
        return (bytes, process.waitForExit())
    }

    /// Returns a pipe for the output of a process. No other process inherits either end.
    ///
    /// After the start the caller must close the write end.
    public static func pipe() -> Pipe {
        launching.withLock { _ in
            let pipe = Pipe()
            for end in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
                _ = fcntl(end.fileDescriptor, F_SETFD, FD_CLOEXEC)
            }
            return pipe
        }
    }

    /// Held during a start, so that a pipe is not inherited before it is marked close-on-exec.
    private static let launching = Mutex(())

    /// Returns the open descriptors. Most are close-on-exec already; closing them in the child is a second safeguard.
    private static func openDescriptors() -> [Int32] {
        ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []).compactMap { Int32($0) }
    }

    private static func direct(_ descriptor: Int32, to stream: Stream, _ actions: inout posix_spawn_file_actions_t) {
        switch stream {
        case .null:
            posix_spawn_file_actions_addopen(
                &actions, descriptor, "/dev/null", descriptor == 0 ? O_RDONLY : O_WRONLY, 0)
        case .inherited: break
        case .descriptor(let source): posix_spawn_file_actions_adddup2(&actions, source, descriptor)
        case .file(let path, let truncates):
            let flags = O_WRONLY | O_CREAT | O_APPEND | (truncates ? O_TRUNC : 0)
            posix_spawn_file_actions_addopen(&actions, descriptor, path, flags, 0o600)
        case .output: posix_spawn_file_actions_adddup2(&actions, 1, descriptor)
        }
    }

    private static func withCStrings<Result>(
        _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let pointers = strings.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        return body(pointers + [nil])
    }
}
