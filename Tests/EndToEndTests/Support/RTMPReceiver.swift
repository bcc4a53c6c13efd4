import EncodedMedia
import Foundation
import MediaFormats
import RTMP
import Synchronization
import TestSupport

/// A destination that accepts everything, even from two senders of one stream at once, and records the times of
/// arrival.
final class RTMPReceiver: Sendable {
    /// A frame on arrival.
    struct Arrival: Sendable {
        /// Time of arrival, in ns of CLOCK_MONOTONIC.
        var at: Int64
        var timestamp: UInt32
        var isVideo: Bool
        var isIDR: Bool
        var bytes: Int
    }

    /// The frames sent by one connection.
    struct Publication: Sendable {
        var name: String
        var frames: [Arrival] = []
        var isOver = false
    }

    /// The frames of a connection that arrived after a later one had begun.
    struct Overlap: Sendable, CustomStringConvertible {
        var seconds = 0.0
        var bytes = 0

        var description: String { "\(Int(seconds * 1000)) ms, \(bytes) bytes" }
    }

    private let acceptor: LoopbackAcceptor
    private let publications = Mutex<[Publication]>([])

    init() throws {
        acceptor = LoopbackAcceptor(try LoopbackListener(queue: 64))
        // Keeps the server until `stop`.
        acceptor.start { [self] connection in Thread.detachNewThread { [self] in serve(connection) } }
    }

    var port: Int { acceptor.port }

    func url(_ name: String) -> String { "rtmp://127.0.0.1:\(port)/live/\(name)" }

    func stop() { acceptor.stop() }

    /// Returns the connections that have sent frames of this stream, in the order of their first frames.
    func senders(of name: String) -> [Publication] {
        publications.withLock { $0.filter { $0.name == name && !$0.frames.isEmpty } }
            .sorted { $0.frames[0].at < $1.frames[0].at }
    }

    /// Returns the longest overlap of two senders of a stream.
    func overlap(of name: String) -> Overlap {
        let senders = senders(of: name)
        var most = Overlap()
        for (index, earlier) in senders.enumerated() {
            for later in senders[(index + 1)...] {
                guard let begin = later.frames.first?.at, let end = earlier.frames.last?.at, end > begin else {
                    continue
                }
                let late = earlier.frames.filter { $0.at > begin }
                most.seconds = max(most.seconds, Double(end - begin) / 1e9)
                most.bytes = max(most.bytes, late.reduce(0) { $0 + $1.bytes })
            }
        }
        return most
    }

    /// Returns the longest times between two pictures, in seconds, at which one sender follows another.
    func freezes(of name: String) -> [Double] {
        let senders = senders(of: name)
        return zip(senders, senders.dropFirst()).compactMap { earlier, later in
            guard let last = earlier.frames.last(where: \.isVideo), let first = later.frames.first(where: \.isVideo)
            else { return nil }
            return Double(first.at - last.at) / 1e9
        }
    }

    private func serve(_ connection: Int32) {
        defer { close(connection) }
        var session = RTMPServerSession(now: MonotonicClock.now())
        var random = SystemRandomNumberGenerator()
        var number: Int?
        defer { if let number { publications.withLock { $0[number].isOver = true } } }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = recv(connection, &bytes, bytes.count, 0)
            guard count > 0 else { return }
            let now = MonotonicClock.now()
            for event in session.read(bytes[..<count], now: now, using: &random) {
                switch event {
                case .requested(let request):
                    session.accept(now: now)
                    number = publications.withLock { publications in
                        publications.append(Publication(name: request.name))
                        return publications.count - 1
                    }
                case .tag(let tag):
                    guard case .frame(let track, let isIDR) = tag.role, let number else { continue }
                    let arrival = Arrival(
                        at: now, timestamp: tag.timestamp, isVideo: track == .video, isIDR: isIDR, bytes: tag.body.count
                    )
                    publications.withLock { $0[number].frames.append(arrival) }
                case .left: if let number { publications.withLock { $0[number].isOver = true } }
                case .over: return
                case .keyframeWanted: break
                }
            }
            var output = session.takeOutput()[...]
            while !output.isEmpty {
                let sent = output.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                guard sent > 0 else { return }
                output = output.dropFirst(sent)
            }
        }
    }
}
