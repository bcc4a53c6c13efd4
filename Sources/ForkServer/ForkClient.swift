import Foundation
import Synchronization

/// The way to the fork server at a path. Safe to use from any thread.
public final class ForkClient: Sendable {
    /// Time for which a server that did not make a process is left alone.
    private static let pause = Duration.seconds(5)

    private let path: String
    private let patience: Double
    private let onFailure: @Sendable (String) -> Void
    private let retryAt = Mutex<ContinuousClock.Instant?>(nil)

    /// - Parameters:
    ///   - path: The server's socket.
    ///   - patience: Longest wait for each step of the server, in seconds. A new program is started in less than the
    ///     default.
    ///   - onFailure: Told why no process was made.
    public init(path: String, patience: Double = 0.25, onFailure: @escaping @Sendable (String) -> Void) {
        self.path = path
        self.patience = patience
        self.onFailure = onFailure
    }

    /// Has a process made. Blocks for a millisecond, at most for twice the patience.
    ///
    /// - Parameters:
    ///   - arguments: Those after the program's name.
    ///   - input: Its standard input. Stays the caller's.
    ///   - output: Its standard output and error. Stays the caller's.
    /// - Returns: `nil` if there is no process: then none will ever read from `input`. The server is not asked for the next
    ///   5 s.
    public func start(_ arguments: [String], input: Int32, output: Int32) -> ForkedProcess? {
        let now = ContinuousClock.now
        guard retryAt.withLock({ $0.map { $0 <= now } ?? true }) else { return nil }
        do throws(PacketSocket.Failure) {
            return try request(arguments, input: input, output: output)
        } catch {
            retryAt.withLock { $0 = now + Self.pause }
            onFailure(error.description)
            return nil
        }
    }

    private func request(
        _ arguments: [String], input: Int32, output: Int32
    ) throws(PacketSocket.Failure) -> ForkedProcess {
        guard let request = ForkRequest(arguments: arguments).bytes else {
            throw .init("the arguments are too long for the fork server")
        }
        let connection = try PacketSocket.connect(to: path, patience: patience)
        do throws(PacketSocket.Failure) {
            guard PacketSocket.send(request, [input, output], on: connection),
                let message = PacketSocket.receive(upTo: ForkAnswer.limit, on: connection)
            else { throw .init("the fork server at \(path) does not answer") }
            guard case .started(let processID) = ForkAnswer(message.bytes), let descriptor = message.descriptors.first
            else {
                for descriptor in message.descriptors { close(descriptor) }
                throw .init("the fork server refuses: \(String(decoding: message.bytes, as: UTF8.self))")
            }
            let process = ForkedProcess(processID: processID, descriptor: descriptor, connection: connection)
            // If the process is gone already, that is its end and no reason to start another one.
            _ = PacketSocket.send(ForkAnswer.go, on: connection)
            return process
        } catch {
            close(connection)
            throw error
        }
    }
}
