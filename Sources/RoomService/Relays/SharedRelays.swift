import ChildProcesses
import Foundation
import MixModel
import Synchronization

/// Processes that run the relays of several programs each. Thread-safe.
///
/// After its process has died, a program gets a process of its own, so that a program that makes relays crash affects
/// other programs at most once.
package final class SharedRelays: Sendable {
    package typealias Launched = (process: LaunchedProcess, log: String)
    /// Starts a process for the program at a socket, with a socket to this service as its standard input.
    package typealias Launch = @Sendable (_ socket: String, _ input: Int32) throws(RelayError) -> Launched

    private struct Host {
        let process: LaunchedProcess
        let log: String
        /// This service's end of the socket.
        let channel: Int32
        /// Sockets of the programs in the process, by number.
        var programs: [Int: String] = [:]
        /// Whether it accepts no more programs, because a command did not reach it.
        var isBroken = false
        var lines = LineSplitter(limit: 1 << 16)
    }

    private struct State {
        var hosts: [Host] = []
        var count = 0
        /// Descriptions of how programs ended, until they are read.
        var ends: [Int: String] = [:]
        /// Numbers of the programs whose handles may still ask how they ended.
        var handles: Set<Int> = []
        /// Sockets of programs that must get a process of their own.
        var alone: Set<String> = []

        mutating func note(_ end: String, of number: Int) {
            if handles.contains(number) { ends[number] = end }
        }
    }

    /// Time after which a process that does not end a program is killed, with all of its programs.
    private static let patience: DispatchTimeInterval = .seconds(2)

    private let limit: Int
    private let launch: Launch
    private let state = Mutex(State())

    /// - Parameter limit: Maximum number of programs in a process.
    package init(limit: Int, launch: @escaping Launch) {
        self.limit = limit
        self.launch = launch
    }

    /// Runs the relay of `task` in a process that has room, or in a new one.
    ///
    /// - Returns: The relay; `nil` if the program must have a process of its own.
    package func start(task: TaskID, socket: String) throws(RelayError) -> (any RelayProcessHandle)? {
        try state.withLock { (state) throws(RelayError) -> (any RelayProcessHandle)? in
            refresh(&state)
            guard !state.alone.contains(socket) else { return nil }
            let index = try indexOfHost(for: socket, &state)
            state.count += 1
            let number = state.count
            guard Self.send(.run(number: number, task: task, socket: socket), to: state.hosts[index].channel) else {
                state.hosts[index].isBroken = true
                throw .notStarted("relay process \(state.hosts[index].process.processID) accepts no commands")
            }
            state.hosts[index].programs[number] = socket
            state.handles.insert(number)
            return SharedRelay(relays: self, number: number, processID: state.hosts[index].process.processID)
        }
    }

    /// Ends the relay at this socket at once, if it runs in one of these processes.
    ///
    /// - Returns: Whether it runs in one of them.
    package func kill(socket: String) -> Bool {
        let number = state.withLock { state -> Int? in
            refresh(&state)
            return state.hosts.lazy.flatMap(\.programs).first { $0.value == socket }?.key
        }
        guard let number else { return false }
        signal(number, SIGKILL)
        return true
    }

    /// Returns a description of how a program ended, only once; `nil` while it runs.
    fileprivate func takeEnd(of number: Int) -> String? {
        state.withLock { state in
            refresh(&state)
            return state.ends.removeValue(forKey: number)
        }
    }

    /// Drops what is kept for the handle of a program, which may still run.
    fileprivate func forget(_ number: Int) {
        state.withLock { state in
            state.handles.remove(number)
            state.ends[number] = nil
        }
    }

    /// Number of descriptions of ends that were not read.
    var unreadEnds: Int {
        state.withLock { state in
            refresh(&state)
            return state.ends.count
        }
    }

    /// Applies the effect of a process signal to a single program.
    fileprivate func signal(_ number: Int, _ signal: Int32) {
        let isSent = state.withLock { state -> Bool in
            guard let host = state.hosts.first(where: { $0.programs[number] != nil }) else { return true }
            return Self.send(
                signal == SIGKILL ? .abandon(number: number) : .terminate(number: number), to: host.channel)
        }
        guard signal == SIGKILL || !isSent else { return }
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { self.killProcess(of: number) }
    }

    /// Kills the process in which a program is still running.
    private func killProcess(of number: Int) {
        state.withLock { state in
            refresh(&state)
            state.hosts.first { $0.programs[number] != nil }?.process.signal(SIGKILL)
        }
    }

    // MARK: - Under the lock

    /// Returns the fullest process that has room, so that the others become empty and end.
    private func indexOfHost(for socket: String, _ state: inout State) throws(RelayError) -> Int {
        let roomy = state.hosts.indices.filter { !state.hosts[$0].isBroken && state.hosts[$0].programs.count < limit }
        if let index = roomy.max(by: { state.hosts[$0].programs.count < state.hosts[$1].programs.count }) {
            return index
        }
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw .notStarted("no socket pair: \(String(cString: strerror(errno)))")
        }
        defer { close(ends[1]) }
        do throws(RelayError) {
            let launched = try launch(socket, ends[1])
            state.hosts.append(Host(process: launched.process, log: launched.log, channel: ends[0]))
        } catch {
            close(ends[0])
            throw error
        }
        return state.hosts.count - 1
    }

    /// Processes the reports of the processes, and releases those that are empty or gone.
    private func refresh(_ state: inout State) {
        for index in state.hosts.indices.reversed() {
            for case .ended(let number, let failure) in Self.reports(of: &state.hosts[index]) {
                guard state.hosts[index].programs.removeValue(forKey: number) != nil else { continue }
                let host = state.hosts[index]
                let end = "relay in process \(host.process.processID) ended\(failure.map { ": \($0)" } ?? "")"
                state.note("\(end), its log is \(host.log)", of: number)
            }
            let host = state.hosts[index]
            if let exit = host.process.exit {
                for (number, socket) in host.programs {
                    let process = "relay process \(host.process.processID) of \(host.programs.count) programs"
                    state.note("\(process) ended with \(exit), its log is \(host.log)", of: number)
                    state.alone.insert(socket)
                }
            } else if host.programs.isEmpty {
                // It ends by itself when its channel is closed.
                host.process.onExit { _ in }
            } else {
                continue
            }
            close(host.channel)
            state.hosts.remove(at: index)
        }
    }

    private static func reports(of host: inout Host) -> [RelayHostReport] {
        var reports: [RelayHostReport] = []
        var bytes = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(host.channel, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            guard count > 0 else { return reports }
            let lines = (try? host.lines.append(bytes[..<count])) ?? []
            reports += lines.compactMap { try? JSONDecoder().decode(RelayHostReport.self, from: Data($0)) }
        }
    }

    /// Sends a command without waiting.
    ///
    /// - Returns: Whether the whole command was written.
    private static func send(_ command: RelayHostCommand, to channel: Int32) -> Bool {
        guard let line = try? DocumentEncoder.json(command) else { return false }
        let bytes = Array(line.utf8) + [0x0A]
        return Foundation.send(channel, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)) == bytes.count
    }
}

/// A relay that shares its process.
private final class SharedRelay: RelayProcessHandle {
    let processID: Int32
    private let relays: SharedRelays
    private let number: Int
    private let end = Mutex<String?>(nil)

    init(relays: SharedRelays, number: Int, processID: Int32) {
        self.relays = relays
        self.number = number
        self.processID = processID
    }

    deinit { relays.forget(number) }

    func exitDescription() -> String? {
        end.withLock { end in
            end = end ?? relays.takeEnd(of: number)
            return end
        }
    }

    func signal(_ number: Int32) { relays.signal(self.number, number) }
}
