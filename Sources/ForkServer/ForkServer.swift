import CForkServer
import Foundation

/// A process that has loaded what its children need, and creates them with `fork()`. That takes a millisecond instead
/// of the hundred of a new program, and shares the loaded memory.
///
/// Runs on the only thread of the process. Callers must run as the same user.
public struct ForkServer: ~Copyable {
    /// The process in which `run` has returned.
    public enum Outcome: Hashable, Sendable {
        /// The server process, which must end now.
        case over
        /// A new process, which must act on these arguments. Its standard input and outputs are those of the request.
        case child(arguments: [String])
    }

    private struct Child {
        let processID: pid_t
        /// Readable once the process has ended.
        let descriptor: Int32
        /// The connection of the client that requested it.
        let connection: Int32
    }

    private struct Caller {
        let connection: Int32
        /// Time by which the request must have arrived, in ms of CLOCK_MONOTONIC.
        let deadline: Int
    }

    /// Largest number of processes at a time.
    static let mostChildren = 512
    /// Largest number of connections whose request has not arrived; further ones wait in the kernel.
    static let mostCallers = 32
    /// Time for a request to arrive after its connection, in ms.
    static let patience = 1000

    private let listener: Int32
    private let lifeline: Int32
    /// The permitted first arguments of children.
    private let kinds: Set<String>
    private let log: (String) -> Void
    private var children: [Child] = []
    private var callers: [Caller] = []

    /// Listens for requests.
    /// - Parameters:
    ///   - path: Unix socket, at most 107 bytes long. An existing file is replaced.
    ///   - lifeline: Descriptor whose end of file ends the server. Children continue.
    ///   - kinds: First arguments that requests may have.
    ///   - log: Called with lines for the log.
    /// - Throws: A description if the socket cannot be created, or if the process has several threads.
    public init(path: String, lifeline: Int32, kinds: Set<String>, log: @escaping (String) -> Void) throws {
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
        guard threads == 1 else {
            throw PacketSocket.Failure("\(threads) threads are running, of which a new process would have one")
        }
        listener = try PacketSocket.listen(at: path)
        self.lifeline = lifeline
        self.kinds = kinds
        self.log = log
    }

    /// Serves requests until the lifeline ends, and returns once more in each new process.
    ///
    /// - Parameter setTitle: Called in a new process with its arguments, to show them in `ps`.
    public mutating func run(setTitle: ([String]) -> Void) -> Outcome {
        while true {
            var watches = [pollfd(fd: lifeline, events: Int16(POLLIN), revents: 0)]
            // `poll()` ignores a negative descriptor.
            let isFull = callers.count >= Self.mostCallers
            watches.append(pollfd(fd: isFull ? -1 : listener, events: Int16(POLLIN), revents: 0))
            watches += children.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
            watches += callers.map { pollfd(fd: $0.connection, events: Int16(POLLIN), revents: 0) }
            let now = Self.milliseconds
            let wait = callers.map { max(0, $0.deadline - now) }.min() ?? -1
            guard poll(&watches, nfds_t(watches.count), Int32(wait)) >= 0 || errno == EINTR else { return .over }
            guard watches[0].revents == 0 else { return .over }
            let ready = Set(watches.filter { $0.revents != 0 }.map(\.fd))
            reap(ready)
            if let arguments = serve(ready) {
                setTitle(arguments)
                return .child(arguments: arguments)
            }
            if ready.contains(listener) { accept() }
        }
    }

    private mutating func accept() {
        let connection = Foundation.accept(listener, nil, nil)
        guard connection >= 0 else {
            // Without descriptors the listener stays readable: a pause instead of a busy loop.
            if errno == EMFILE || errno == ENFILE { usleep(10_000) }
            return
        }
        callers.append(Caller(connection: connection, deadline: Self.milliseconds + Self.patience))
    }

    /// Reports the processes that have ended to the clients that requested them.
    private mutating func reap(_ ready: Set<Int32>) {
        children.removeAll { child in
            guard ready.contains(child.descriptor) else { return false }
            var status: Int32 = 0
            guard waitpid(child.processID, &status, WNOHANG) == child.processID else { return false }
            _ = PacketSocket.send(ForkAnswer.ended(status).bytes, on: child.connection)
            close(child.descriptor)
            // A process that was killed at once has not read its start message. Closing a connection with unread data
            // would give the other end an error, which it would see before the sent status.
            var byte: UInt8 = 0
            _ = recv(child.connection, &byte, 1, Int32(MSG_DONTWAIT))
            close(child.connection)
            return true
        }
    }

    /// Answers the requests that have arrived.
    /// - Returns: The arguments, in a new process.
    private mutating func serve(_ ready: Set<Int32>) -> [String]? {
        let now = Self.milliseconds
        for caller in callers {
            guard ready.contains(caller.connection) else {
                if caller.deadline <= now { drop(caller.connection) }
                continue
            }
            callers.removeAll { $0.connection == caller.connection }
            if let arguments = answer(caller.connection) { return arguments }
        }
        return nil
    }

    private mutating func drop(_ connection: Int32) {
        callers.removeAll { $0.connection == connection }
        close(connection)
    }

    private mutating func answer(_ connection: Int32) -> [String]? {
        var user: uid_t = 0
        var process: pid_t = 0
        guard forkserver_peer(connection, &user, &process) == 0, user == geteuid(),
            let message = PacketSocket.receive(upTo: ForkRequest.limit, on: connection)
        else {
            close(connection)
            return nil
        }
        // The new process has copies.
        defer { for descriptor in message.descriptors { close(descriptor) } }
        do {
            return try fork(message.bytes, message.descriptors, for: connection)
        } catch {
            log("a request of process \(process) is refused: \(error)")
            _ = PacketSocket.send(ForkAnswer.refused("\(error)").bytes, on: connection)
            close(connection)
            return nil
        }
    }

    /// Creates a process. It keeps only the descriptors that it was given.
    private mutating func fork(
        _ bytes: [UInt8], _ descriptors: [Int32], for connection: Int32
    ) throws(PacketSocket.Failure) -> [String]? {
        guard let request = ForkRequest(bytes), descriptors.count == 2 else { throw .init("it cannot be read") }
        guard let kind = request.arguments.first, kinds.contains(kind) else {
            throw .init("it asks for none of \(kinds.sorted().joined(separator: ", "))")
        }
        guard children.count < Self.mostChildren else { throw .init("\(Self.mostChildren) processes are running") }
        let processID = forkserver_fork()
        if processID < 0 { throw .init(errnoOf: "a new process") }
        if processID == 0 {
            setpgid(0, 0)
            for (source, target) in [(descriptors[0], 0), (descriptors[1], 1), (descriptors[1], 2)] as [(Int32, Int32)]
            {
                dup2(source, target)
            }
            // A client that has given up has started a process of its own with the same socket.
            guard PacketSocket.receive(upTo: 16, on: connection)?.bytes == ForkAnswer.go else { _exit(0) }
            let own = [listener, connection] + children.flatMap { [$0.descriptor, $0.connection] }
            for descriptor in own + callers.map(\.connection) { close(descriptor) }
            return request.arguments
        }
        let descriptor = forkserver_open_process(processID)
        guard descriptor >= 0 else {
            let failure = PacketSocket.Failure(errnoOf: "watching process \(processID)")
            kill(processID, SIGKILL)
            var status: Int32 = 0
            waitpid(processID, &status, 0)
            throw failure
        }
        children.append(Child(processID: processID, descriptor: descriptor, connection: connection))
        _ = PacketSocket.send(ForkAnswer.started(processID).bytes, [descriptor], on: connection)
        return nil
    }

    private static var milliseconds: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    }
}
