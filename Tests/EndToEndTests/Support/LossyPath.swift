import EncodedMedia
import Foundation
import Synchronization
import TestSupport

/// A network between a WebRTC client and the service, on loopback: packets are lost, delayed and reordered, and the client's
/// uplink may be narrow.
final class LossyPath: Sendable {
    struct Weather: Sendable {
        /// Share of packets that are lost, each way, 0…1.
        var loss = 0.0
        /// Longest delay in ms; each packet has its own.
        var jitter = 0.0
        /// Whether the network loses all packets.
        var isOut = false
        /// The link through which all packets to the service pass; `nil` for one without a limit. It counts UDP payloads.
        var uplink: Bottleneck?
    }

    /// Packets that the client has sent in some time, including those that were lost.
    struct Sent: Sendable {
        var packets = 0
        var bytes = 0
        var lost = 0
    }

    private struct State {
        var weather = Weather()
        var random: SeededGenerator
        var service: sockaddr_in?
        var client: sockaddr_in?
        var waiting: [(due: Int64, bytes: [UInt8], isUp: Bool)] = []
        /// The client's packets, in the order of their arrival at the path.
        var sent: [(at: Int64, bytes: Int, isLost: Bool)] = []
        var passed = 0
        var lost = 0
        var isStopped = false

        mutating func take(_ bytes: [UInt8], from sender: sockaddr_in, isUp: Bool, now: Int64) {
            if isUp {
                let known = client ?? sender
                // The answers to a second socket would go to the first one.
                guard known.sin_port == sender.sin_port, known.sin_addr.s_addr == sender.sin_addr.s_addr else { return }
                client = known
            }
            let end = departure(of: bytes.count, isUp: isUp, now: now)
            if isUp { sent.append((now, bytes.count, end == nil)) }
            if let end {
                let delay = weather.jitter > 0 ? Double.random(in: 0..<weather.jitter, using: &random) : 0
                waiting.append((end + Int64(delay * 1e6), bytes, isUp))
            } else {
                lost += 1
            }
        }

        /// Returns the time at which a packet leaves the link, in ns of CLOCK_MONOTONIC; `nil` if it is lost.
        private mutating func departure(of bytes: Int, isUp: Bool, now: Int64) -> Int64? {
            if weather.isOut || Double.random(in: 0..<1, using: &random) < weather.loss { return nil }
            guard isUp, weather.uplink != nil else { return now }
            return weather.uplink?.take(bytes, now: now)
        }
    }

    private let state: Mutex<State>
    private let front: Int32
    private let back: Int32
    private let port: UInt16

    init(seed: SeededGenerator) throws {
        state = Mutex(State(random: seed))
        (front, port) = try Self.socket("127.0.0.1")
        // The service is not on loopback: its packets return to the address at which it is reached.
        (back, _) = try Self.socket("0.0.0.0")
        let thread = Thread { [self] in run() }
        thread.name = "lossy-path"
        thread.start()
    }

    func set(_ weather: Weather) {
        state.withLock { state in
            if state.weather.uplink != nil {
                // The queue is emptied at once, so that no later packet overtakes those in it.
                let now = MonotonicClock.now()
                for index in state.waiting.indices where state.waiting[index].isUp {
                    state.waiting[index].due = min(state.waiting[index].due, now)
                }
            }
            state.weather = weather
        }
    }

    /// Numbers of packets that have passed, and that were lost.
    var counts: (passed: Int, lost: Int) { state.withLock { ($0.passed, $0.lost) } }

    /// Returns the client's packets that arrived at the path in a range of CLOCK_MONOTONIC, in ns.
    func sent(in time: ClosedRange<Int64>) -> Sent {
        state.withLock { state in
            var sum = Sent()
            for packet in state.sent.reversed() where packet.at <= time.upperBound {
                guard packet.at >= time.lowerBound else { break }
                sum.packets += 1
                sum.bytes += packet.bytes
                if packet.isLost { sum.lost += 1 }
            }
            return sum
        }
    }

    /// Returns the rate in bit/s at which the client has sent for the last seconds, including what was lost.
    func bitRate(overLast seconds: Double) -> Double {
        let now = MonotonicClock.now()
        return Double(sent(in: now - Int64(seconds * 1e9)...now).bytes) * 8 / seconds
    }

    func stop() { state.withLock { $0.isStopped = true } }

    /// Returns the service's answer with this path's address in place of the service's own. From then on, the client is the
    /// socket whose packet comes first: a browser tries each of its addresses.
    func lead(_ answer: String) throws -> String {
        var found: (address: String, port: UInt16)?
        var lines: [String] = []
        for line in answer.split(separator: "\r\n", omittingEmptySubsequences: false).map(String.init) {
            guard line.hasPrefix("a=candidate:") else {
                lines.append(line)
                continue
            }
            var words = line.split(separator: " ").map(String.init)
            guard found == nil, words.count > 7, words[2].uppercased() == "UDP", words[7] == "host",
                let number = UInt16(words[5]), !words[4].contains(":")
            else { continue }
            found = (words[4], number)
            (words[4], words[5]) = ("127.0.0.1", "\(port)")
            lines.append(words.joined(separator: " "))
        }
        guard let found else { throw EndToEndError("an answer without a candidate for IPv4 over UDP: \(answer)") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = found.port.bigEndian
        inet_pton(AF_INET, found.address, &address.sin_addr)
        state.withLock { state in
            state.service = address
            state.client = nil
        }
        return lines.joined(separator: "\r\n")
    }

    private static func socket(_ host: String) throws -> (Int32, UInt16) {
        let descriptor = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        inet_pton(AF_INET, host, &address.sin_addr)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard isBound else { throw EndToEndError("no UDP port on \(host)") }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    private func run() {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while !state.withLock({ $0.isStopped }) {
            var polled = [
                pollfd(fd: front, events: Int16(POLLIN), revents: 0),
                pollfd(fd: back, events: Int16(POLLIN), revents: 0),
            ]
            poll(&polled, 2, 1)
            for (index, descriptor) in [front, back].enumerated() where polled[index].revents != 0 {
                take(from: descriptor, isUp: index == 0, &buffer)
            }
            sendDue()
        }
        close(front)
        close(back)
    }

    private func take(from descriptor: Int32, isUp: Bool, _ buffer: inout [UInt8]) {
        while true {
            var address = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let count = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    recvfrom(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT), $0, &size)
                }
            }
            guard count > 0 else { return }
            let bytes = Array(buffer.prefix(count))
            let now = MonotonicClock.now()
            state.withLock { $0.take(bytes, from: address, isUp: isUp, now: now) }
        }
    }

    private func sendDue() {
        let now = MonotonicClock.now()
        let (due, service, client) = state.withLock { state in
            let due = state.waiting.filter { $0.due <= now }.sorted { $0.due < $1.due }
            state.waiting.removeAll { $0.due <= now }
            state.passed += due.count
            return (due, state.service, state.client)
        }
        for packet in due {
            guard var address = packet.isUp ? service : client else { continue }
            _ = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    sendto(
                        packet.isUp ? back : front, packet.bytes, packet.bytes.count, 0, $0,
                        socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
    }
}
