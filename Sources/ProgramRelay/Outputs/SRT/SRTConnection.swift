import Foundation
import MediaFormats
import RTMP
import Synchronization
import TextFormats

/// One attempt to send a program over SRT, by a process of its own (`mixworker push`), which is fed with FLV.
final class SRTConnection: OutputConnection {
    /// State shared by the loop and the owner.
    private final class Shared: Sendable {
        struct State {
            /// The process, once `open` has returned without a fault.
            var process: WorkerProcess?
            var pushed: Int64 = 0
            var taken: Int64 = 0
            var fault: OutputFault?
            var lines = LineBuffer(limit: 1 << 16)
            var onChange: (@Sendable () -> Void)?
        }
        let state = Mutex(State())

        func take(_ bytes: [UInt8]) {
            let onChange = state.withLock { state -> (@Sendable () -> Void)? in
                let (hadBegun, fault) = (state.taken > 0, state.fault)
                for line in state.lines.push(bytes) ?? [] {
                    switch try? JSONDecoder().decode(PushReport.self, from: Data(line)) {
                    case .taken(let count): state.taken = min(max(state.taken, count), state.pushed)
                    case .failed(let isRefusal, let words):
                        state.fault = state.fault ?? OutputFault(isRefusal ? .publishRefused : .connectionLost, words)
                    case nil: break
                    }
                }
                return hadBegun != (state.taken > 0) || fault != state.fault ? state.onChange : nil
            }
            onChange?()
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

    private let shared = Shared()
    private let address: PullAddress
    private let limits: Destination.Limits?
    private let worker: URL

    /// Creates a connection; `open()` connects it.
    /// - Throws: `PullEnd` of kind `.badURL`, if no attempt can succeed.
    init(url: String, limits: Destination.Limits?, worker: URL) throws(PullEnd) {
        address = try PullAddress(url)
        _ = try SRTOptions(address)
        self.limits = limits
        self.worker = worker
    }

    deinit { shared.state.withLock { $0.process }?.kill() }

    var tellsChanges: Bool { true }

    func open(onChange: @escaping @Sendable () -> Void) async {
        shared.state.withLock { $0.onChange = onChange }
        var address = address
        if let limits {
            let destination = Destination(
                scheme: address.scheme, host: address.host, port: address.port ?? 0, limits: limits)
            do throws(Destination.Unreachable) {
                // Connected to under the address that was judged.
                if let found = try await destination.check(within: .seconds(5)) { address.put("\(found)") }
            } catch {
                return shared.fail(OutputFault(error.fault))
            }
        }
        guard let line = try? JSONEncoder().encode(PushSettings(url: address.text)) else {
            return shared.fail(OutputFault(.badURL, "the URL cannot be passed on"))
        }
        do {
            let process = try WorkerProcess(
                executable: worker, arguments: ["push"],
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

    /// The newest bytes are always on their way, so that only those behind them count.
    var isWaiting: Bool { shared.state.withLock { ($0.process?.pendingBytes ?? 0) > 0 } }
    var taken: Int64 { shared.state.withLock { $0.taken } }
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
