import MixModel
import Testing

@testable import RoomChannel

/// The log that a room's node keeps for the nodes that mirror its channel.
@Suite struct ChannelLogTests {
    private let snapshot = ChannelSnapshot(state: ChannelState(isLive: false, rules: ChannelRules().shown))

    private func told(_ log: ChannelLog, _ number: Int64, of run: Int64 = 1) -> ChannelBulletin? {
        log.bulletin(after: ChannelPlace(run: run, number: number), snapshot: snapshot)
    }

    @Test func whatComesAfterAPlaceIsTold() {
        var log = ChannelLog(run: 1)
        #expect(told(log, 0) == nil)
        for id in 1...3 { log.append(.deleted(id: Int64(id))) }
        let place = ChannelPlace(run: 1, number: 3)
        #expect(told(log, 3) == nil)
        #expect(
            told(log, 1)
                == ChannelBulletin(
                    place: place, after: ChannelPlace(run: 1, number: 1), notices: [.deleted(id: 2), .deleted(id: 3)]))
        let whole = ChannelBulletin(place: place, snapshot: snapshot)
        #expect(log.bulletin(after: nil, snapshot: snapshot) == whole)
        // The place belongs to another log, or to none.
        #expect(told(log, 1, of: 2) == whole)
        for number in [-1, 4, .min, .max] as [Int64] { #expect(told(log, number) == whole) }
    }

    @Test func onlyTheLastNoticesAreKept() {
        var log = ChannelLog(run: 1)
        let most = Int64(ChannelLog.mostNotices)
        for id in 1...(most + 10) { log.append(.deleted(id: id)) }
        #expect(told(log, 9)?.snapshot == snapshot)
        #expect(told(log, 10)?.notices.count == ChannelLog.mostNotices)
        #expect(told(log, 10)?.notices.first == .deleted(id: 11))
    }

    @Test func aBulletinIsBounded() throws {
        var log = ChannelLog(run: 1)
        let text = String(repeating: "x", count: 8000)
        for id in 1...200 as ClosedRange<Int64> {
            log.append(.message(ChannelMessage(id: id, kind: .comment, text: text, sentAt: 0)))
        }
        var (place, count) = (Int64(0), 0)
        while let bulletin = told(log, place) {
            #expect(bulletin.notices.count * 8000 <= ChannelLog.mostBytes && bulletin.snapshot == nil)
            place = bulletin.place.number
            count += bulletin.notices.count
        }
        #expect(count == 200 && place == 200)
        // A notice that is too long is sent alone.
        log.append(.opened(title: String(repeating: "x", count: ChannelLog.mostBytes + 1)))
        #expect(told(log, 200)?.notices.count == 1)
    }
}
