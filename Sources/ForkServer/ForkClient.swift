import Foundation
import Synchronization

/// A client of the fork server at a path. Safe to use from any thread.
public final class ForkClient: Sendable {
    /// Time for which no request is made after the server failed to create a process.
    private static let pause = Duration.seconds(5)

    private let path: String
    private let patience: Double
    private let onFailure: @Sendable (String) -> Void
    private let retryAt = Mutex<ContinuousClock.Instant?>(nil)

    /// - Parameters:
    ///   - path: The server's socket.
    ///   - patience: Longest wait for each step of the server, in seconds. Starting a new program takes less than the
    ///     default.
    ///   - onFailure: Called with the reason why no process was created.
    public init(path: String, patience: Double = 0.25, onFailure: @escaping @Sendable (String) -> Void) {
        self.path = path
        self.patience = patience
        self.onFailure = onFailure
    }

    /// Has the server create a process. Blocks for a millisecond, at most for twice the patience.
    ///
    /// - Parameters:
    ///   - arguments: Those after the program's name.
    ///   - input: Its standard input, still owned by the caller.
    ///   - output: Its standard output and error, still owned by the caller.
    /// - Returns: `nil` if no process was created; then none will ever read from `input`, and no request is made for
    ///   the next 5 s.
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
            // If the process is already gone, it has ended: that is no reason to start another one.
            _ = PacketSocket.send(ForkAnswer.go, on: connection)
            return process
        } catch {
            close(connection)
            throw error
        }
    }
}
