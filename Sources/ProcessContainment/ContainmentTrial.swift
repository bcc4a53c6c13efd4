import CContainment
import Dispatch
import Foundation

/// A test of a contained process's abilities. Runs inside the process.
public struct ContainmentTrial: Codable, Hashable, Sendable {
    /// The kernel's answer to each attempt: the error description, or `done`.
    public var attempts: [String: String]
    /// The results of actions that must still work: the error description, or `done`.
    public var needs: [String: String]
    public var outcome: Containment.Outcome

    /// The result of an attempt that succeeded.
    public static let done = "done"

    /// Attempts that succeeded, in alphabetical order.
    public var breaches: [String] { attempts.filter { $0.value == Self.done }.map(\.key).sorted() }

    /// Needs that are not met, in alphabetical order.
    public var losses: [String] { needs.filter { $0.value != Self.done }.map(\.key).sorted() }

    /// Tries all attempts and needs.
    /// - Parameters:
    ///   - file: A file that this user can read and write.
    ///   - port: A port of 127.0.0.1.
    ///   - image: A file in a directory that was listed as readable; `nil` for none.
    public static func run(
        file: String, port: UInt16, image: String?, outcome: Containment.Outcome
    ) -> ContainmentTrial {
        ContainmentTrial(
            attempts: [
                "read a file": opening(file, O_RDONLY), "write a file": opening(file, O_WRONLY),
                "create a file": opening(file + ".new", O_WRONLY | O_CREAT), "list a directory": opening("/", O_RDONLY),
                "remove a file": result(unlink(file)), "read a system file": opening("/etc/passwd", O_RDONLY),
                "connect": connecting(port), "open a Unix socket": opened(socket(AF_UNIX, streams, 0)),
                "read the parent's environment": opening("/proc/\(getppid())/environ", O_RDONLY),
                "start a program": starting(), "signal the parent": result(kill(getppid(), 0)),
                "reach the parent's limits": result(containment_read_limit(getppid())),
            ],
            needs: [
                "read an image": image.map { opening($0, O_RDONLY) } ?? done,
                "read the system's fonts": opening("/usr/share", O_RDONLY), "start a thread": startingThread(),
                "see how its threads are": opening("/proc/\(otherThread ?? "none")/stat", O_RDONLY),
            ], outcome: outcome)
    }

    /// Number of a thread other than the first one.
    private static var otherThread: String? {
        let threads = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
        return threads?.first { $0 != "\(getpid())" }
    }

    private static func startingThread() -> String {
        let ended = DispatchSemaphore(value: 0)
        Thread { ended.signal() }.start()
        return ended.wait(timeout: .now() + 5) == .success ? done : "no thread within 5 s"
    }

    private static let streams = Int32(SOCK_STREAM.rawValue)

    private static func result(_ value: Int32) -> String { value < 0 ? String(cString: strerror(errno)) : done }

    private static func opened(_ descriptor: Int32) -> String {
        let words = result(descriptor)
        if descriptor >= 0 { close(descriptor) }
        return words
    }

    private static func opening(_ path: String, _ flags: Int32) -> String {
        opened(open(path, flags | O_CLOEXEC, 0o600))
    }

    private static func connecting(_ port: UInt16) -> String {
        let descriptor = socket(AF_INET, streams, 0)
        guard descriptor >= 0 else { return result(descriptor) }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                result(connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)))
            }
        }
    }

    private static func starting() -> String {
        var process: pid_t = 0
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("true"), nil]
        defer { free(arguments[0]) }
        let failure = posix_spawn(&process, "/bin/true", nil, nil, &arguments, nil)
        guard failure == 0 else { return String(cString: strerror(failure)) }
        var status: Int32 = 0
        waitpid(process, &status, 0)
        return done
    }
}
