import EncodedMedia
import MixModel

/// Decides when a relay may pull sources, one of which may have crashed the relay before it. Pure.
///
/// The relay keeps `Record`s in a file, so that its successor knows which sources were *on probation* when it crashed:
/// connected, or with a new codec configuration, only shortly before. After one crash those are pulled one at a time. A
/// source that was on probation in two crashes in a row waits, for longer each time, while all others continue.
package struct SourceQuarantine: Sendable {
    /// The facts about a source that a successor of the relay needs.
    package struct Record: Hashable, Codable, Sendable {
        /// Crashes in a row while the source was on probation.
        package var crashes = 0
        package var isOnProbation = false
    }

    /// Whether a source may be connected now.
    package enum Admission: Hashable, Sendable {
        case now
        /// Another source that may have crashed the relay is being tried; ask again at this time.
        case afterOthers(MediaTime)
        /// The source waits until this time, for `seconds` in total, after `crashes` crashes in a row.
        case quarantined(until: MediaTime, seconds: Int, crashes: Int)
    }

    /// Time with media after which a source's probation ends, and after which a suspected source is cleared.
    package static let probation = MediaTime.seconds(10)
    package static let clearance = MediaTime.seconds(60)
    /// Time with media for which a suspected source is pulled before the next one. It doubles for each further source
    /// to which two crashes point, because a source that crashes relays only after a while casts suspicion on others.
    static let shortestTurn = 2.0
    static let longestTurn = 32.0
    /// Longest wait for the media of a source whose turn it is.
    static let turnWithoutMedia = MediaTime.seconds(3)
    static let pause = MediaTime.milliseconds(250)
    static let shortestQuarantine = 10
    static let longestQuarantine = 600

    private struct Pull {
        var connectedAt: MediaTime
        var firstMediaAt: MediaTime?
    }

    package private(set) var records: [SourceID: Record]
    private var pulls: [SourceID: Pull] = [:]
    /// The suspected source whose turn it is.
    private var tried: SourceID?
    private let begun: MediaTime
    private let turn: MediaTime

    /// - Parameters:
    ///   - left: Records of a relay that did not end normally; empty if there are none.
    ///   - now: Program time at which this relay starts.
    package init(after left: [SourceID: Record] = [:], now: MediaTime = .zero) {
        begun = now
        records = left.compactMapValues { record in
            let crashes = record.isOnProbation ? max(record.crashes, 0).saturatingSum(1) : record.crashes
            return crashes > 0 ? Record(crashes: crashes) : nil
        }
        let blamed = min(max(records.values.count { $0.crashes > 1 }, 1), 10)
        turn = .seconds(min(Self.shortestTurn * Double(1 << (blamed - 1)), Self.longestTurn))
    }

    /// Returns whether the source may be connected; if so, call `connected` next.
    package mutating func admit(_ id: SourceID, now: MediaTime) -> Admission {
        guard let crashes = records[id]?.crashes, crashes > 0 else { return .now }
        if crashes > 1 {
            let seconds = Self.quarantine(after: crashes)
            let end = begun + .seconds(Double(seconds))
            if now < end { return .quarantined(until: end, seconds: seconds, crashes: crashes) }
        }
        if let tried, tried != id, isTurn(of: tried, now: now) { return .afterOthers(now + Self.pause) }
        // The previous source has had its turn: if the relay crashes now, another one is to blame.
        if let tried, tried != id { records[tried]?.isOnProbation = false }
        tried = id
        return .now
    }

    /// Records a new connection to the source, which is on probation from now on.
    package mutating func connected(_ id: SourceID, now: MediaTime) {
        pulls[id] = Pull(connectedAt: now)
        records[id, default: Record()].isOnProbation = true
    }

    /// Records media of the source.
    ///
    /// - Parameter isConfigured: Whether its codec configuration has changed, which restarts the probation.
    package mutating func delivered(_ id: SourceID, isConfigured: Bool, now: MediaTime) {
        guard pulls[id] != nil else { return }
        if pulls[id]?.firstMediaAt == nil { pulls[id]?.firstMediaAt = now }
        guard isConfigured else { return }
        pulls[id]?.firstMediaAt = now
        records[id, default: Record()].isOnProbation = true
    }

    /// Records that the source's connection has ended and the relay has survived it.
    package mutating func disconnected(_ id: SourceID) {
        pulls[id] = nil
        if tried == id { tried = nil }
        records[id]?.isOnProbation = false
        if records[id]?.crashes == 0 { records[id] = nil }
    }

    /// Removes a source that is no longer planned.
    package mutating func forget(_ id: SourceID) {
        disconnected(id)
        records[id] = nil
    }

    /// Ends probations. Call about once a second.
    package mutating func advance(to now: MediaTime) {
        for (id, pull) in pulls {
            guard let crashes = records[id]?.crashes, let first = pull.firstMediaAt else { continue }
            if now - first >= (crashes > 1 ? Self.clearance : Self.probation) { records[id]?.isOnProbation = false }
            if now - first >= Self.clearance || crashes == 0 { dropIfProven(id) }
        }
    }

    /// Returns the quarantine after this number of crashes in a row, in seconds: 10, then twice as long each time, 600
    /// at most.
    package static func quarantine(after crashes: Int) -> Int {
        crashes < 2 ? 0 : min(shortestQuarantine << min(crashes - 2, 10), longestQuarantine)
    }

    private func isTurn(of id: SourceID, now: MediaTime) -> Bool {
        guard let pull = pulls[id] else { return false }
        guard let first = pull.firstMediaAt else { return now - pull.connectedAt < Self.turnWithoutMedia }
        return now - first < turn
    }

    private mutating func dropIfProven(_ id: SourceID) {
        if records[id]?.isOnProbation == false { records[id] = nil }
    }
}
