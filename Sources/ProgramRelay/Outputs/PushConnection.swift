import EncodedMedia
import Foundation
import MediaFormats
import Synchronization
import TextFormats

/// A single attempt to send a program through its own process (`mixworker push`), which gets FLV.
final class PushConnection: OutputConnection {
    /// Checks the destination, and returns the process's settings. Called once, within `open`.
    typealias Prepare = @Sendable () async throws(OutputFault) -> PushSettings

    /// State shared by the loop and the owner.
    private final class Shared: Sendable {
        struct State {
            /// The process, once `open` has returned without a fault.
            var process: WorkerProcess?
            var pushed: Int64 = 0
            var taken: Int64 = 0
            /// Bytes that the process had taken when the receiver accepted the stream; `nil` until then.
            var takenBefore: Int64?
            var fault: OutputFault?
            var lines = LineBuffer(limit: 1 << 16)
            var onChange: (@Sendable () -> Void)?
            /// Time of the last forwarded request for a keyframe, in ns.
            var askedAt = Int64.min

            /// Number of bytes sent to the receiver.
            var sent: Int64 { takenBefore.map { max(0, taken - $0) } ?? 0 }
        }
        /// Shortest time between two forwarded requests for a keyframe, in ns.
        static let pause: Int64 = 100_000_000

        let state: Mutex<State>
        let onKeyframeWanted: @Sendable () -> Void

        init(isToldOfConnection: Bool, onKeyframeWanted: @escaping @Sendable () -> Void) {
            state = Mutex(State(takenBefore: isToldOfConnection ? nil : 0))
            self.onKeyframeWanted = onKeyframeWanted
        }

        func take(_ bytes: [UInt8]) {
            let now = MonotonicClock.now()
            let (onChange, asks) = state.withLock { state -> ((@Sendable () -> Void)?, Bool) in
                let (hadBegun, fault) = (state.sent > 0, state.fault)
                var asks = false
                for line in state.lines.push(bytes) ?? [] {
                    switch try? JSONDecoder().decode(PushReport.self, from: Data(line)) {
                    case .taken(let count): state.taken = min(max(state.taken, count), state.pushed)
                    case .connected: state.takenBefore = state.takenBefore ?? state.taken
                    case .keyframeWanted where now.saturatingDifference(state.askedAt) >= Self.pause:
                        state.askedAt = now
                        asks = true
                    case .keyframeWanted: break
                    case .failed(let isRefusal, let words, let code):
                        let code = code ?? (isRefusal ? .publishRefused : .connectionLost)
                        state.fault = state.fault ?? OutputFault(code, words)
                    case nil: break
                    }
                }
                return (hadBegun != (state.sent > 0) || fault != state.fault ? state.onChange : nil, asks)
            }
            onChange?()
            if asks { onKeyframeWanted() }
        }

        func fail(_ fault: OutputFault) {
            let onChange = state.withLock { state -> (@Sendable () -> Void)? in
                guard state.fault == nil else { return nil }
                state.fault = fault
                return state.onChange
            }
            onChange?()
        }
    }

    private let shared: Shared
    private let worker: URL
    private let arguments: [String]
    private let prepare: Prepare

    /// Creates a connection; `open()` connects it.
    ///
    /// - Parameters:
    ///   - arguments: Arguments of the process.
    ///   - isToldOfConnection: Whether the process reports when the receiver accepts the stream. Otherwise the stream
    ///     counts as accepted when the first bytes were taken.
    ///   - onKeyframeWanted: Called when the receiver needs a keyframe, from any thread. Must return at once.
    init(
        worker: URL, arguments: [String] = ["push"], isToldOfConnection: Bool,
        onKeyframeWanted: @escaping @Sendable () -> Void = {},
        prepare: @escaping Prepare
    ) {
        shared = Shared(isToldOfConnection: isToldOfConnection, onKeyframeWanted: onKeyframeWanted)
        self.worker = worker
        self.arguments = arguments
        self.prepare = prepare
    }

    deinit { shared.state.withLock { $0.process }?.kill() }

    var tellsChanges: Bool { true }

    func open(onChange: @escaping @Sendable () -> Void) async {
        shared.state.withLock { $0.onChange = onChange }
        let settings: PushSettings
        do throws(OutputFault) {
            settings = try await prepare()
        } catch {
            return shared.fail(error)
        }
        guard let line = try? JSONEncoder().encode(settings) else {
            return shared.fail(OutputFault(.badURL, "the URL cannot be passed on"))
        }
        do {
            let process = try WorkerProcess(
                executable: worker, arguments: arguments,
                onBytes: { [shared] in shared.take($0) },
                onExit: { [shared] end in
                    shared.fail(OutputFault(.connectionLost, "the process that sends it \(end.failure)"))
                })
            process.send(Array(line) + [0x0A] + FLVTag.fileHeader)
            shared.state.withLock { $0.process = process }
        } catch {
            shared.fail(OutputFault(.connectionLost, "the process that sends it cannot be started: \(error)"))
        }
    }

    func push(_ tag: OutputTag) {
        shared.state.withLock { state in
            guard state.fault == nil, let process = state.process else { return }
            state.pushed += Int64(tag.size)
            process.send(tag.bytes)
        }
    }

    var waiting: Int { shared.state.withLock { Int($0.pushed - $0.taken) } }

    /// The newest bytes are always in transit, so only those after them count.
    var isWaiting: Bool { shared.state.withLock { ($0.process?.pendingBytes ?? 0) > 0 } }
    var taken: Int64 { shared.state.withLock { $0.sent } }
    var hasBegun: Bool { taken > 0 }
    var silentSince: Int64? { nil }
    var fault: OutputFault? { shared.state.withLock { $0.fault } }

    func abandon() {
        shared.state.withLock { state in
            state.onChange = nil
            return state.process
        }?.kill()
    }

    func close() async {
        guard let process = shared.state.withLock({ $0.process }) else { return }
        process.endInput()
        process.kill(after: 2)
        await process.waitForExit()
    }
}
