import EncodedMedia
import Foundation
import Synchronization
import TestSupport

/// A network between a WebRTC client and the service, on loopback: packets are lost, delayed and reordered.
final class LossyPath: Sendable {
    struct Weather: Sendable {
        /// Share of packets that are lost, each way, 0…1.
        var loss = 0.0
        /// Longest delay in ms; each packet has its own.
        var jitter = 0.0
        /// Whether the network loses all packets.
        var isOut = false
    }

    private struct State {
        var weather = Weather()
        var random: SeededGenerator
        var service: sockaddr_in?
        var client: sockaddr_in?
        var waiting: [(due: Int64, bytes: [UInt8], isUp: Bool)] = []
        var passed = 0
        var lost = 0
        var isStopped = false
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

    func set(_ weather: Weather) { state.withLock { $0.weather = weather } }

    /// Numbers of packets that have passed, and that were lost.
    var counts: (passed: Int, lost: Int) { state.withLock { ($0.passed, $0.lost) } }

    func stop() { state.withLock { $0.isStopped = true } }

    /// Returns the service's answer with this path's address in place of the service's own.
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
        state.withLock { $0.service = address }
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
            let now = MonotonicClock.now()
            state.withLock { state in
                if isUp { state.client = address }
                let weather = state.weather
                if weather.isOut || Double.random(in: 0..<1, using: &state.random) < weather.loss {
                    state.lost += 1
                } else {
                    let delay = weather.jitter > 0 ? Double.random(in: 0..<weather.jitter, using: &state.random) : 0
                    state.waiting.append((now + Int64(delay * 1e6), Array(buffer.prefix(count)), isUp))
                }
            }
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
