import Foundation
import Synchronization
import TestSupport

/// A TCP proxy that cuts connections at a chosen message of the client, or loses what follows it.
///
/// It needs no right of the system, unlike a network namespace. A lost message shows the store the same as lost packets do,
/// except that the system acknowledges what is sent to the proxy, so `tcp_user_timeout` never ends a connection.
public final class CuttingProxy: Sendable {
    /// The effect on the connection when the client sends the words.
    public enum Cut: Sendable {
        case none
        /// The words are not forwarded.
        case request
        /// The words are forwarded, but the answer to them is not.
        case answer
        /// The words and everything after them vanish, both ways. The connection stays open, as if all packets were lost.
        case lostRequest
        /// The words are forwarded. Everything that comes back vanishes, and the connection stays open.
        case lostAnswer
    }

    /// What happens to the bytes of a connection.
    private enum Fate {
        case passed, endedAtAnswer, ended, lostBothWays, lostOnTheWayBack

        var isSilent: Bool { self == .lostBothWays || self == .lostOnTheWayBack }
    }

    private struct State {
        var cut = Cut.none
        /// Number of further times that the words pass.
        var passing = 0
        var isDown = false
        var cuts = 0
        var open: Set<Int32> = []
    }
    private let state = Mutex(State())
    private let listener: LoopbackListener
    private let target: Int
    private let words: [UInt8]

    public var port: Int { listener.port }
    /// Number of connections cut at the words.
    public var cuts: Int { state.withLock { $0.cuts } }

    public init(to target: Int, cuttingAt words: String) throws {
        listener = try LoopbackListener(queue: 64)
        self.target = target
        self.words = Array(words.utf8)
        let descriptor = listener.descriptor
        Thread { [self] in
            while case let client = accept(descriptor, nil, nil), client >= 0 { serve(client) }
        }.start()
    }

    /// Cuts once, at the next occurrence of the words.
    ///
    /// - Parameters:
    ///   - staysDown: Whether connections are refused after that, until `comeUp`.
    ///   - passing: Number of times that the words pass before.
    public func cut(_ cut: Cut, staysDown: Bool = false, passing: Int = 0) {
        state.withLock {
            $0.cut = cut
            $0.passing = passing
            $0.cuts = 0
            $0.isDown = staysDown
        }
    }

    /// Accepts connections again.
    public func comeUp() { state.withLock { $0.isDown = false } }

    /// Ends all connections, and accepts new ones.
    public func reset() {
        for descriptor in state.withLock({ $0.open }) { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }

    public func close() {
        shutdown(listener.descriptor, Int32(SHUT_RDWR))
        reset()
    }

    private func serve(_ client: Int32) {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard !state.withLock({ $0.isDown && $0.cuts > 0 }), LoopbackListener.connect(server, to: target) else {
            Foundation.close(client)
            Foundation.close(server)
            return
        }
        var on: Int32 = 1
        for descriptor in [client, server] {
            setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        }
        state.withLock { $0.open.formUnion([client, server]) }
        let (fate, left) = (Box(Fate.passed), Box(2))
        for (from, to, isRequest) in [(client, server, true), (server, client, false)] {
            Thread { [self] in
                copy(from, to, isRequest: isRequest, fate)
                // If packets are lost, the client does not learn that the server has closed the connection.
                if isRequest || !fate.value.withLock({ $0.isSilent }) {
                    shutdown(from, Int32(SHUT_RDWR))
                    shutdown(to, Int32(SHUT_RDWR))
                }
                let isLast = left.value.withLock { count in
                    count -= 1
                    return count == 0
                }
                guard isLast else { return }
                state.withLock { $0.open.subtract([client, server]) }
                Foundation.close(client)
                Foundation.close(server)
            }.start()
        }
    }

    private func copy(_ from: Int32, _ to: Int32, isRequest: Bool, _ fate: Box<Fate>) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = read(from, &buffer, buffer.count), count > 0 {
            if isRequest, contains(buffer[..<count]), let next = take() { fate.value.withLock { $0 = next } }
            switch (fate.value.withLock({ $0 }), isRequest) {
            case (.passed, _), (.endedAtAnswer, true), (.lostOnTheWayBack, true):
                guard send(to, buffer, count, Int32(MSG_NOSIGNAL)) == count else { return }
            case (.ended, _), (.endedAtAnswer, false): return
            case (.lostBothWays, _), (.lostOnTheWayBack, false): break
            }
        }
    }

    /// Returns the fate of a connection whose client has sent the words; `nil` if they change nothing.
    private func take() -> Fate? {
        state.withLock { state in
            if state.passing > 0 {
                state.passing -= 1
                return nil
            }
            defer { state.cut = .none }
            if state.cut != .none { state.cuts += 1 }
            switch state.cut {
            case .none: return nil
            case .request: return .ended
            case .answer: return .endedAtAnswer
            case .lostRequest: return .lostBothWays
            case .lostAnswer: return .lostOnTheWayBack
            }
        }
    }

    private func contains(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard bytes.count >= words.count else { return false }
        return (bytes.startIndex...bytes.endIndex - words.count).contains { place in
            bytes[place] == words[0] && bytes[place..<place + words.count].elementsEqual(words)
        }
    }

    private final class Box<Value: Sendable>: Sendable {
        let value: Mutex<Value>
        init(_ value: Value) { self.value = Mutex(value) }
    }
}
