import ChildProcesses
import Foundation
import Synchronization

/// A helper program that reads from a file and writes its result to a pipe. Its messages are collected line by line.
///
/// Blocking; used by one thread. Releasing the object ends the program.
final class ChildProcess {
    private let process: LaunchedProcess
    private let output = ProcessLaunch.pipe()
    private let messages = ProcessLaunch.pipe()
    private let lines = LineQueue()

    init(_ program: String, _ arguments: [String]) throws(ProbeError) {
        var launch = ProcessLaunch(program, arguments)
        launch.output = .descriptor(output.fileHandleForWriting.fileDescriptor)
        launch.errors = .descriptor(messages.fileHandleForWriting.fileDescriptor)
        do throws(ProcessLaunch.Failure) {
            process = try launch.start()
        } catch {
            throw .tool("cannot run \(program): \(error)")
        }
        for pipe in [output, messages] { try? pipe.fileHandleForWriting.close() }
        let descriptor = messages.fileHandleForReading.fileDescriptor
        let queue = lines
        let thread = Thread { ChildProcess.collect(descriptor, into: queue) }
        thread.name = "probe-messages"
        thread.start()
    }

    deinit {
        process.signal(SIGTERM)
        process.waitForExit()
        lines.waitForEnd()
    }

    /// Waits for the next message line and returns it; `nil` after the last.
    func nextLine() -> String? { lines.next() }

    /// Reads exactly `count` bytes of output, or fewer at its end.
    func read(_ count: Int) -> [UInt8] {
        let descriptor = output.fileHandleForReading.fileDescriptor
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let got = Foundation.read(descriptor, buffer.baseAddress.map { $0 + filled }, count - filled)
                if got > 0 { filled += got } else if got == 0 || errno != EINTR { break }
            }
        }
    }

    /// Reads all of the output up to its end.
    func readAll() -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let part = read(1 << 20)
            all += part
            if part.count < 1 << 20 { return all }
        }
    }

    /// Waits for the end of the program.
    func waitForExit() -> ProcessExit { process.waitForExit() }

    private static func collect(_ descriptor: Int32, into queue: LineQueue) {
        var line: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 14)
        while true {
            let count = Foundation.read(descriptor, &chunk, chunk.count)
            if count <= 0 { break }
            for byte in chunk[..<count] {
                if byte == 10 || byte == 13 {
                    if !line.isEmpty { queue.put(String(decoding: line, as: UTF8.self)) }
                    line = []
                } else {
                    line.append(byte)
                }
            }
        }
        if !line.isEmpty { queue.put(String(decoding: line, as: UTF8.self)) }
        queue.end()
    }
}

/// Lines handed from one thread to another.
private final class LineQueue: Sendable {
    private struct State {
        var lines: [String] = []
        var position = 0
        var hasEnded = false
    }
    private let state = Mutex(State())
    private let available = DispatchSemaphore(value: 0)

    func put(_ line: String) {
        state.withLock { $0.lines.append(line) }
        available.signal()
    }

    func end() {
        state.withLock { $0.hasEnded = true }
        available.signal()
    }

    func next() -> String? {
        available.wait()
        let line = state.withLock { state -> String? in
            guard state.position < state.lines.count else { return nil }
            defer { state.position += 1 }
            return state.lines[state.position]
        }
        // The end stays visible to every later call.
        if line == nil { available.signal() }
        return line
    }

    func waitForEnd() {
        while next() != nil {}
    }
}
