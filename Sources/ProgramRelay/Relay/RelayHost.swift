import Foundation
import MixModel
import RTMP
import Synchronization
import TextFormats

/// The relays of several programs in one process, on one socket loop.
///
/// Each of them has its own socket and does not know of the others, so that a restarted service finds each one like a
/// relay with its own process. The service that started the process tells it which relays to run.
public final class RelayHost: Sendable {
    private let make: @Sendable (TaskID, String) -> Relay
    private let relays = Mutex<[Int: Relay]>([:])
    private let channel: SocketChannel
    private let commands: AsyncStream<RelayHostCommand>
    private let command: AsyncStream<RelayHostCommand>.Continuation

    /// - Parameters:
    ///   - descriptor: The socket to the service. Owned from now on.
    ///   - quantum: Time in ms for which packets may collect while all programs are calm; 0 means that they are read as they
    ///     arrive.
    ///   - make: Creates the relay of a task that listens at a path.
    public init(descriptor: Int32, quantum: Int = 0, make: @escaping @Sendable (TaskID, String) -> Relay) {
        self.make = make
        SocketLoop.shared.setQuantum(quantum)
        let (commands, command) = AsyncStream.makeStream(of: RelayHostCommand.self)
        (self.commands, self.command) = (commands, command)
        let lines = HostLines()
        channel = SocketChannel(
            descriptor: descriptor,
            onBytes: { bytes in
                // The service writes only occasional lines, so decoding needs no other queue.
                for line in lines.push(bytes) { command.yield(line) }
            }, onClosed: { command.finish() })
    }

    /// Runs relays until the service ends or needs no more of them, and all have ended.
    public func run() async {
        await withDiscardingTaskGroup { group in
            for await command in commands {
                switch command {
                case .run(let number, let task, let socket):
                    let relay = make(task, socket)
                    relays.withLock { $0[number] = relay }
                    group.addTask {
                        do {
                            try await relay.run()
                            self.ended(number, failure: nil)
                        } catch {
                            self.ended(number, failure: "\(error)")
                        }
                    }
                case .terminate(let number): relays.withLock { $0[number] }?.terminate()
                case .abandon(let number):
                    relays.withLock { $0[number] }?.terminate()
                    // After the relay's own last work on the loop, when its path is free.
                    SocketLoop.shared.perform { self.ended(number, failure: nil) }
                }
            }
        }
        channel.close()
    }

    /// Asks all relays to end, and accepts no new ones. Safe to call from any thread.
    public func terminate() {
        command.finish()
        for relay in relays.withLock({ Array($0.values) }) { relay.terminate() }
    }

    private func ended(_ number: Int, failure: String?) {
        guard relays.withLock({ $0.removeValue(forKey: number) }) != nil else { return }
        guard let line = try? DocumentEncoder.json(RelayHostReport.ended(number: number, failure: failure)) else {
            return
        }
        channel.send(Array(line.utf8) + [0x0A])
    }
}

/// Parses a service's bytes into commands. Used only on the socket loop.
private final class HostLines: @unchecked Sendable {
    private var lines = LineBuffer(limit: 1 << 16)

    /// Lines that are not commands are ignored.
    func push(_ bytes: [UInt8]) -> [RelayHostCommand] {
        (lines.push(bytes) ?? []).compactMap { try? JSONDecoder().decode(RelayHostCommand.self, from: Data($0)) }
    }
}
