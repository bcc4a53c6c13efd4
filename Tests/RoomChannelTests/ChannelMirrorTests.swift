import Foundation
import MixModel
import TestSupport
import Testing

@testable import RoomChannel

private let rules = ChannelRules().shown

/// A node's view of the channel of a room at another node.
@Suite struct ChannelMirrorTests {
    private func message(_ id: Int64) -> ChannelMessage {
        ChannelMessage(id: id, kind: .comment, text: "\(id)", sentAt: id)
    }

    private func snapshot(
        _ ids: [Int64], droppedUpTo: Int64 = 0, likes: Int64 = 0, isLive: Bool = false, viewers: Int = 0
    ) -> ChannelSnapshot {
        ChannelSnapshot(
            messages: ids.map(message), droppedUpTo: droppedUpTo, lastID: ids.last ?? 0,
            state: ChannelState(
                isLive: isLive, audience: ChannelAudience(channel: viewers), likes: likes, rules: rules))
    }

    private func place(_ number: Int64, of run: Int64 = 1) -> ChannelPlace { ChannelPlace(run: run, number: number) }

    private func makeMirror(_ ids: [Int64], at number: Int64? = 0) -> ChannelMirror {
        ChannelMirror(
            of: snapshot(ids), at: number.map { place($0) }, history: ChannelHistory(mostMessages: 5))
    }

    @Test func noticesAreToldOnceAndThenMoreIsAskedFor() {
        var mirror = makeMirror([10])
        #expect(mirror.beginning == .ask(place(0)) && mirror.known == 10)
        let notices: [ChannelNotice] = [.message(message(11)), .deleted(id: 10), .viewers(ChannelAudience(channel: 3))]
        let bulletin = ChannelBulletin(place: place(3), after: place(0), notices: notices)
        #expect(mirror.take(.answered(bulletin)) == notices.map { .tell($0) } + [.ask(place(3))])
        #expect(mirror.history.messages.map(\.id) == [11] && mirror.state.audience.channel == 3)
        // The bulletin contains nothing new, and then a message that is already known.
        #expect(mirror.take(.answered(ChannelBulletin(nothingAfter: place(3)))) == [.ask(place(3))])
        let again = ChannelBulletin(
            place: place(5), after: place(3),
            notices: [.message(message(11)), .viewers(ChannelAudience(channel: 3))])
        #expect(mirror.take(.answered(again)) == [.ask(place(5))])
        // The answer belongs to another request.
        #expect(mirror.take(.answered(bulletin)) == [.rest(100)])
        #expect(mirror.take(.rested) == [.seek] && mirror.take(.elsewhere) == [.ask(nil)])
    }

    /// Wherever the room moves, exactly the missed changes are told.
    @Test func theDifferenceIsToldWhenTheRoomHasMoved() {
        var mirror = makeMirror([10, 20, 30])
        #expect(mirror.take(.moved) == [.rest(100)] && mirror.take(.rested) == [.seek])
        #expect(mirror.take(.unknown) == [.rest(200)] && mirror.take(.rested) == [.seek])
        #expect(mirror.take(.elsewhere) == [.ask(place(0))] && mirror.take(.silent) == [.rest(400)])
        _ = mirror.take(.rested)
        _ = mirror.take(.elsewhere)
        let bulletin = ChannelBulletin(
            place: place(9, of: 2), snapshot: snapshot([10, 30, 40], likes: 7, isLive: true, viewers: 2))
        let likes = ChannelMessage(id: 40, kind: .like, count: 7, total: 7, sentAt: 0)
        #expect(
            mirror.take(.answered(bulletin)) == [
                .tell(.opened(title: nil)), .tell(.deleted(id: 20)), .tell(.message(message(40))),
                .tell(.message(likes)), .tell(.viewers(ChannelAudience(channel: 2))), .ask(place(9, of: 2)),
            ])
        // The pauses start again at their minimum, and a repeated state is not told.
        #expect(mirror.take(.silent) == [.rest(100)])
        _ = mirror.take(.rested)
        _ = mirror.take(.elsewhere)
        #expect(mirror.take(.answered(bulletin)) == [.ask(place(9, of: 2))])
    }

    /// Messages that the room's node does not know are not deleted.
    @Test func messagesThatTheRoomsNodeHasLostStay() {
        var mirror = makeMirror([10, 20, 30])
        let bulletin = ChannelBulletin(place: place(0, of: 2), snapshot: snapshot([40], droppedUpTo: 35))
        #expect(mirror.take(.answered(bulletin)) == [.tell(.message(message(40))), .ask(place(0, of: 2))])
        #expect(mirror.history.messages.map(\.id) == [10, 20, 30, 40])
        #expect(!mirror.history.reaches(30) && mirror.history.reaches(35))
    }

    /// A message that was told and deleted is not told again by a node that does not know of the deletion.
    @Test func whatWasDeletedIsNotToldAgain() {
        var known = snapshot([10])
        known.lastMessage = 20
        var mirror = ChannelMirror(of: known, history: ChannelHistory())
        #expect(mirror.known == 20 && mirror.take(.elsewhere) == [.ask(nil)])
        let stale = ChannelBulletin(place: place(0, of: 2), snapshot: snapshot([10, 20], droppedUpTo: 30))
        #expect(mirror.take(.answered(stale)) == [.ask(place(0, of: 2))])
    }

    @Test func aMirrorEndsWithItsRoom() {
        var gone = ChannelMirror(of: snapshot([1], isLive: true), history: ChannelHistory())
        #expect(gone.beginning == .seek)
        #expect(gone.take(.gone) == [.tell(.ended), .end] && gone.step == .over)
        #expect(gone.take(.rested) == [] && gone.take(.home(snapshot([2]))) == [])
        var old = makeMirror([1])
        #expect(old.take(.unsupported) == [.end])
        // The room moves to this node during a pause.
        var home = makeMirror([1])
        _ = home.take(.silent)
        #expect(home.take(.home(snapshot([1, 2]))) == [.tell(.message(message(2)))] && home.step == .over)
    }

    @Test func pausesAreBounded() {
        var mirror = makeMirror([], at: nil)
        var pauses: [ChannelMirror.Action] = []
        for _ in 0..<100 {
            pauses += mirror.take(.unknown)
            _ = mirror.take(.rested)
        }
        #expect(pauses.prefix(6) == [.rest(100), .rest(200), .rest(400), .rest(800), .rest(1600), .rest(2000)])
        #expect(pauses.last == .rest(2000))
    }

    @Test func theHistoryIsBounded() {
        var mirror = makeMirror([])
        for id in 1...100 as ClosedRange<Int64> {
            let bulletin = ChannelBulletin(place: place(id), after: place(id - 1), notices: [.message(message(id))])
            _ = mirror.take(.answered(bulletin))
        }
        #expect(mirror.history.messages.map(\.id) == [96, 97, 98, 99, 100] && !mirror.history.reaches(94))
    }

    /// Rooms move and their nodes are lost, while answers are lost, late, or from nodes that no longer have the room.
    @Test func everyFollowerSeesTheSameInTheEnd() throws {
        var random = SeededGenerator(announcedFor: "mirrors")
        var (moves, losses) = (0, 0)
        for run in 0..<TestLength.of(short: 60, long: 5000) {
            var simulation = ChannelSimulation(seed: random.next(), name: "run \(run), seed \(random.seed)")
            try simulation.play(steps: 400)
            moves += simulation.moves
            losses += simulation.losses
        }
        #expect(moves > 100 && losses > 100, "\(moves) moves, \(losses) losses")
    }
}
