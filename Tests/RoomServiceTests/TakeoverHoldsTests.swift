import EventSubscription
import MixModel
import Testing

@testable import RoomService

/// The decision who may take a stream over, with times in seconds.
@Suite struct TakeoverHoldsTests {
    private static func key(_ user: UserID = "alice", app: AppID = .standard) -> IngestStreamKey {
        IngestStreamKey(StreamNames(room: RoomID(app: app, name: "lobby"), user: user, stream: .camera))
    }

    private static func time(_ seconds: Double) -> Int64 { Int64(seconds * 1e9) }

    enum Step: Sendable {
        /// A publisher is let in, and replaces one that was sending, or not.
        case begins(_ at: Double, String, fromSender: Bool)
        case sends(String), falls(String), leaves(String)
        case ingestIsLost, release
    }

    /// What a newcomer meets.
    enum Meeting: Equatable, Sendable {
        case nothing, sender
        /// - Parameter left: Seconds until the stream may be taken over.
        case hold(age: Double, left: Double)
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [Step]
        /// The time at which a newcomer arrives, in seconds.
        let at: Double
        let meets: Meeting

        /// - Parameter isTaken: Whether, before the steps, a publisher has taken the stream over at 10 s.
        init(_ name: String, isTaken: Bool = true, _ steps: [Step] = [], at: Double, meets: Meeting) {
            let taken: [Step] = [
                .begins(0, "a", fromSender: false), .sends("a"), .begins(10, "b", fromSender: true), .sends("b"),
            ]
            testDescription = name
            self.steps = isTaken ? taken + steps : steps
            self.at = at
            self.meets = meets
        }
    }

    static let cases: [Case] = [
        Case("no publisher", isTaken: false, at: 0, meets: .nothing),
        Case(
            "the first takeover", isTaken: false, [.begins(0, "a", fromSender: false), .sends("a")], at: 5,
            meets: .sender),
        Case(
            "an ingest that reports nothing", isTaken: false, [.begins(0, "a", fromSender: false)], at: 5,
            meets: .nothing),
        Case(
            "before the ingest has reported", isTaken: false, [.begins(10, "b", fromSender: true)], at: 10,
            meets: .hold(age: 0, left: 30)),
        Case("in the hold", at: 14, meets: .hold(age: 4, left: 26)),
        Case("at its last moment", at: 39.5, meets: .hold(age: 29.5, left: 0.5)),
        Case("after the hold", at: 40, meets: .sender),
        Case("a half-open holder", [.falls("b")], at: 13, meets: .nothing),
        Case("a holder that stalled", [.falls("b"), .sends("b")], at: 15, meets: .hold(age: 5, left: 25)),
        Case("the holder has left", [.leaves("b")], at: 13, meets: .nothing),
        Case(
            "a restarted encoder, whose connection was closed",
            [.leaves("b"), .begins(13, "c", fromSender: false), .sends("c")], at: 14, meets: .sender),
        Case(
            "one that has replaced a silent holder",
            [.falls("b"), .begins(13, "c", fromSender: false), .sends("c")], at: 14, meets: .sender),
        Case(
            "late reports about the one that was replaced", [.falls("a"), .leaves("a"), .sends("a")], at: 14,
            meets: .hold(age: 4, left: 26)),
        Case(
            "the same publisher is let in again", [.begins(12, "b", fromSender: false)], at: 14,
            meets: .hold(age: 4, left: 26)),
        Case(
            "the next takeover begins a hold", [.begins(41, "c", fromSender: true)], at: 42,
            meets: .hold(age: 1, left: 29)),
        Case("found again after a crash of the ingest", [.ingestIsLost, .sends("b")], at: 14, meets: .sender),
        Case("publishers that were asked to reconnect", [.release], at: 13, meets: .sender),
    ]

    private static func meeting(_ activity: PublisherActivity) -> Meeting {
        guard let hold = activity.hold else { return activity.isSending ? .sender : .nothing }
        return .hold(age: Double(hold.age) / 1e9, left: Double(hold.left) / 1e9)
    }

    @Test(arguments: cases) func aNewcomerMeets(_ one: Case) {
        var holds = TakeoverHolds()
        for step in one.steps {
            switch step {
            case .begins(let at, let session, let fromSender):
                holds.began(Self.key(), session: session, fromSender: fromSender, now: Self.time(at))
            case .sends(let session): holds.heard(Self.key(), session: session, isSending: true)
            case .falls(let session): holds.heard(Self.key(), session: session, isSending: false)
            case .leaves(let session): holds.left(Self.key(), session: session)
            case .ingestIsLost: holds.lost()
            case .release: holds.release()
            }
        }
        #expect(Self.meeting(holds.activity(of: Self.key(), now: Self.time(one.at))) == one.meets)
        let other = holds.activity(of: Self.key("bob"), now: Self.time(one.at))
        #expect(Self.meeting(other) == .nothing, "another stream")
    }

    /// Two OBS with one stream key: each reconnects 2 s after it was disconnected or refused. The stream changes hands once in
    /// 30 s, and never less than that after the last time.
    @Test func twoThatReconnectTakeOverOnceInEachHold() throws {
        var holds = TakeoverHolds()
        holds.began(Self.key(), session: "0", fromSender: false, now: 0)
        holds.heard(Self.key(), session: "0", isSending: true)
        var takeovers: [Double] = []
        for number in 1...150 {
            let at = Double(number) * 2
            guard holds.activity(of: Self.key(), now: Self.time(at)).hold == nil else { continue }
            holds.began(Self.key(), session: "\(number)", fromSender: true, now: Self.time(at))
            holds.heard(Self.key(), session: "\(number)", isSending: true)
            takeovers.append(at)
        }
        #expect(takeovers == stride(from: 2.0, through: 300, by: 30).map(\.self))
    }

    @Test func aRefusalSaysSinceWhenAndUntilWhen() {
        func words(_ age: Double, _ left: Double) -> String {
            TakeoverHold(age: Self.time(age), left: Self.time(left)).words
        }
        #expect(words(4.9, 25.1).contains("was taken over 4 s ago and is being published; "))
        #expect(words(4.9, 25.1).hasSuffix("try again in 26 s") && words(29.9, 0.1).hasSuffix("try again in 1 s"))
        // The numbers of other nodes are not trusted.
        for number in [Int64.min, -1, 0, .max] { #expect(TakeoverHold(age: number, left: number).words.count < 300) }
    }

    // MARK: - Waiting

    private func entry(_ number: Int, _ key: IngestStreamKey = Self.key()) -> TakeoverHolds.Waiting {
        TakeoverHolds.Waiting(
            key: key,
            request: IngestRequest(
                request: number, isPublish: true, application: "live", name: "x", query: "", address: "::1",
                session: "r-\(number)"), process: 1)
    }

    @Test func whoMeetsAHoldIsDecidedAboutTwice() {
        var holds = TakeoverHolds()
        let waits = [holds.wait(entry(2), now: 0), holds.wait(entry(1), now: 5), holds.wait(entry(2), now: 100)]
        #expect(waits == [true, true, true], "a request that is repeated waits once")
        let early = holds.due(now: TakeoverHolds.patience - 1)
        let due = holds.due(now: TakeoverHolds.patience + 5)
        let later = holds.due(now: .max)
        #expect(early.isEmpty && due.map(\.request.request) == [1, 2] && later.isEmpty)
        #expect(Double(TakeoverHolds.patience) > TakeoverHolds.silence * 1e9)
    }

    @Test func whoLeavesWhileItWaitsIsDecidedAboutNoMore() {
        var holds = TakeoverHolds()
        _ = holds.wait(entry(1), now: 0)
        _ = holds.wait(entry(2), now: 0)
        holds.withdrew("r-1")
        holds.withdrew("r-9")
        let due = holds.due(now: .max)
        #expect(due.map(\.request.session) == ["r-2"])
    }

    /// The second publisher was let in when it had left already, so that the first one goes on.
    @Test(arguments: [true, false]) func whoNeverBeganHoldsNothing(_ isSending: Bool) {
        var holds = TakeoverHolds()
        holds.began(Self.key(), session: "a", fromSender: false, now: 0)
        holds.heard(Self.key(), session: "a", isSending: true)
        holds.began(Self.key(), session: "b", fromSender: true, now: 1)
        let present = IngestStream(stream: Self.key().text, session: "a", isConnected: true, isSending: isSending)
        holds.left(Self.key(), session: "b", present: present)
        #expect(Self.meeting(holds.activity(of: Self.key(), now: 2)) == (isSending ? .sender : .nothing))
        // A newer one has the stream.
        holds.began(Self.key(), session: "c", fromSender: true, now: 3)
        holds.left(Self.key(), session: "b", present: present)
        #expect(holds.activity(of: Self.key(), now: 4).hold?.age == 1)
    }

    @Test func whoHasLeftIsUndecidedNoMore() {
        var undecided = UndecidedPublishers()
        for number in 1...3 { undecided.asked(entry(number).request) }
        undecided.remove("r-2")
        #expect(["r-1", "r-2", "r-3", "r-4"].map(undecided.contains) == [true, false, true, false])
        // The ingest is found again: one of them has left meanwhile.
        undecided.listAnew()
        undecided.asked(entry(3).request)
        #expect(["r-1", "r-2", "r-3"].map(undecided.contains) == [false, false, true])
        var player = entry(5).request
        player.isPublish = false
        undecided.asked(player)
        #expect(!undecided.contains("r-5"))
    }

    @Test func theyAreBounded() {
        var holds = TakeoverHolds()
        // Nobody takes all places: of one stream 4 wait, of one app 16.
        let most = TakeoverHolds.mostWaiting
        var taken: [AppID: Int] = [:]
        for number in 0..<most.all * 8 {
            let app = AppID("a\(number % 8)")
            let key = Self.key(UserID("u\(number / 64)"), app: app)
            if holds.wait(entry(number, key), now: 0) { taken[app, default: 0] += 1 }
        }
        #expect(taken.values.allSatisfy { $0 <= most.ofApp })
        #expect(taken.values.reduce(0, +) == most.all)
        let none = holds.wait(entry(-1), now: 0)
        #expect(!none)
        _ = holds.due(now: .max)
        let ofStream = (0..<most.ofStream + 2).count { holds.wait(entry($0), now: 0) }
        #expect(ofStream == most.ofStream)
        let ofApp = (0..<most.ofApp + 2).count { holds.wait(entry(100 + $0, Self.key(UserID("u\($0)"))), now: 0) }
        #expect(ofStream + ofApp == most.ofApp)
        for number in 0..<TakeoverHolds.most + 10 {
            holds.began(Self.key(UserID("u\(number)")), session: "s", fromSender: true, now: 0)
        }
        let known = (0..<TakeoverHolds.most + 10).count { number in
            holds.activity(of: Self.key(UserID("u\(number)")), now: 1).isSending
        }
        #expect(known == TakeoverHolds.most)
    }
}
