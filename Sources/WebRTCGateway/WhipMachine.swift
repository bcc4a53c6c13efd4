import EncodedMedia
import GStreamerKit
import MixModel
import RTMP

/// The state machine of a WebRTC worker: one publisher from its offer to its end. Pure; times are in ns of a monotonic
/// clock.
struct WhipMachine: Sendable {
    struct Limits: Hashable, Sendable {
        /// Time limit from the beginning to a publisher. A service that ends while it starts the worker names none, and
        /// the next one takes the worker over without knowing that.
        var publisher: Int64 = 30_000_000_000
        /// Time limit from the answer to a connection.
        var connect: Int64 = 20_000_000_000
        /// Additional time without media after an ICE restart.
        var restart: Int64 = 10_000_000_000
        /// Time for which the server that accepts the stream may be absent.
        var absence: Int64 = 30_000_000_000
        /// Delays before it is reconnected; the last one is repeated.
        var pauses: [Int64] = [100_000_000, 250_000_000, 500_000_000, 1_000_000_000]
    }

    enum Action: Hashable, Sendable {
        /// Creates an answer to the offer: `answered` or `failed` follows.
        case open(WebRTCPublisher)
        case report(WebRTCReport)
        /// Connects to the server that accepts the stream: `uplinkBegan` or `uplinkEnded` follows.
        case dial
        case requestKeyframe
        /// Unpublishes the stream and ends the process.
        case finish
    }

    private enum Step: Hashable, Sendable {
        case waiting, answering
        case connecting(until: Int64)
        case live(since: Int64)
        case over
    }

    /// Arrivals from the publisher, as times; `nil` before the first one.
    struct Arrivals: Hashable, Sendable {
        var last: Int64?
        var lastVideo: Int64?
    }

    private let limits: Limits
    private var step = Step.waiting
    /// Time since which a publisher has been awaited; `nil` before the first tick.
    private var waitsSince: Int64?
    private var silence: Int64 = 0
    private var wish = KeyframeWish()
    private(set) var keyframeRequests = 0
    /// Time since which the server has been absent; `nil` while it accepts the stream.
    private var awaySince: Int64?
    /// Whether the server has ever accepted the stream.
    private var wasTaken = false
    private var attempts = 0
    private var dialAt: Int64?

    init(limits: Limits = Limits()) { self.limits = limits }

    /// Whether media can flow.
    var isLive: Bool { if case .live = step { true } else { false } }
    var isOver: Bool { step == .over }
    /// Whether no answer is pending.
    var isAnswered: Bool { step != .waiting && step != .answering }
    var hasPublisher: Bool { step != .waiting }

    mutating func publish(_ publisher: WebRTCPublisher) -> [Action] {
        guard step == .waiting else { return [.report(.refused(reason: "This worker has a publisher already"))] }
        step = .answering
        silence = Int64(saturating: min(max(publisher.silence, 0.5), 3600) * 1e9)
        return [.open(publisher)]
    }

    mutating func answered(_ answer: String, now: Int64) -> [Action] {
        guard step == .answering else { return [] }
        step = .connecting(until: now.saturatingSum(limits.connect))
        return [.report(.answered(answer: answer))]
    }

    /// Records that no answer could be created, or that the pipeline has failed.
    mutating func failed(_ reason: String) -> [Action] {
        guard step == .answering else { return end(reason) }
        step = .over
        return [.report(.refused(reason: reason)), .finish]
    }

    mutating func connection(_ state: WebRTCPeer.Connection, now: Int64) -> [Action] {
        switch (state, step) {
        case (.connected, .connecting):
            step = .live(since: now)
            awaySince = now
            return [.report(.connected), .dial]
        case (.failed, .connecting):
            return end("no connection to the client could be made: can it reach this machine's UDP ports?")
        case (.failed, .live): return end("the connection to the client is lost")
        case (.closed, .connecting), (.closed, .live): return end("the client closed the connection")
        default: return []
        }
    }

    /// Records an ICE restart: the client connects again, over another path.
    mutating func restarted(now: Int64) {
        switch step {
        case .connecting: step = .connecting(until: now.saturatingSum(limits.connect))
        case .live: step = .live(since: now.saturatingSum(limits.restart))
        case .waiting, .answering, .over: break
        }
    }

    mutating func uplinkBegan() {
        awaySince = nil
        wasTaken = true
        attempts = 0
    }

    mutating func uplinkEnded(_ fault: ConnectionFault, now: Int64) -> [Action] {
        guard isLive else { return [] }
        switch fault.kind {
        case .refused, .unreachable, .timedOut, .lost, .ended: break
        // After a crash the server asks the service about the stream, which may itself be absent.
        case .streamRefused where wasTaken && awaySince != nil: break
        // A server that accepts the stream and then refuses it has another publisher.
        case .streamRefused where wasTaken: return endNotTaken(fault, .streamReplaced)
        default: return endNotTaken(fault, .streamRefused)
        }
        let since = awaySince ?? now
        awaySince = since
        guard now.saturatingDifference(since) < limits.absence else {
            return end("the ingest is away: \(fault.words)")
        }
        dialAt = now.saturatingSum(limits.pauses[min(attempts, limits.pauses.count - 1)])
        attempts += 1
        return []
    }

    mutating func keyframeWanted() { wish.want() }

    mutating func tookPicture(isIDR: Bool, now: Int64) { wish.took(isIDR: isIDR, now: now) }

    /// Acts on the passing of time. Call it about every 50 ms.
    mutating func tick(_ arrivals: Arrivals, now: Int64) -> [Action] {
        switch step {
        case .waiting:
            let since = waitsSince ?? now
            waitsSince = since
            return now.saturatingDifference(since) < limits.publisher ? [] : end("no publisher was named")
        case .answering, .over: return []
        case .connecting(let until):
            return now < until ? [] : end("the client did not connect within \(limits.connect / 1_000_000_000) s")
        case .live(let since):
            if now.saturatingDifference(max(since, arrivals.last ?? since)) >= silence {
                let seconds = Double(silence) / 1e9
                return end("no media for \(seconds == seconds.rounded() ? "\(Int(seconds))" : "\(seconds)") s")
            }
            var actions: [Action] = []
            if let time = dialAt, now >= time {
                dialAt = nil
                actions.append(.dial)
            }
            if wish.isDue(now: now, lastPacket: arrivals.lastVideo) {
                keyframeRequests += 1
                actions.append(.requestKeyframe)
            }
            return actions
        }
    }

    /// Ends the publication.
    mutating func end(_ reason: String, cause: WebRTCEndCause = .other) -> [Action] {
        guard step != .over else { return [] }
        let hadPublisher = hasPublisher
        step = .over
        return (hadPublisher ? [.report(.ended(reason: reason, cause: cause))] : []) + [.finish]
    }

    private mutating func endNotTaken(_ fault: ConnectionFault, _ cause: WebRTCEndCause) -> [Action] {
        end("\(WebRTCReport.notTaken)\(fault.words)", cause: cause)
    }
}
