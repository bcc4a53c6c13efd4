import MixModel
import Testing

@testable import WebRTCGateway

@Suite struct WhepMachineTests {
    private static let second: Int64 = 1_000_000_000
    private static let source = PlaySource(
        stream: "s", origin: .program(socket: "/r.sock"), network: WebRTCNetwork(), silence: 10, patience: 30)

    /// Returns a machine that plays, with its stream present.
    private static func machine(_ limits: WhepMachine.Limits = .init()) -> WhepMachine {
        var machine = WhepMachine(limits: limits)
        #expect(machine.play(source, now: 0) == [.open(source), .dial])
        // The stream arrives all the time.
        machine.streamCame(now: .max / 2)
        return machine
    }

    private static func live(_ id: String, in machine: inout WhepMachine, now: Int64 = 0) {
        #expect(machine.view(PlayViewer(id: id), offer: "o") == [.take(viewer: id, offer: "o")])
        #expect(machine.answered(id, "a", now: now) == [.report(.answered(viewer: id, answer: "a"))])
        #expect(machine.connected(id, now: now) == [.report(.connected(viewer: id))])
    }

    @Test func itPlaysOnceAndTellsWhatAndForWhom() {
        var machine = WhepMachine()
        #expect(machine.stream == nil)
        let early = machine.view(PlayViewer(id: "v"), offer: "o")
        #expect(early == [.report(.refused(viewer: "v", reason: "The worker does not know yet what it plays"))])
        #expect(machine.play(Self.source, now: 0) == [.open(Self.source), .dial])
        #expect(machine.play(Self.source, now: 0) == [], "said again by a service that has taken over")
        for id in ["b", "a", "c"] { _ = machine.view(PlayViewer(id: id, note: "n\(id)"), offer: "o") }
        #expect(machine.stream == "s")
        #expect(machine.all == ["b", "a", "c"].map { PlayViewer(id: $0, note: "n\($0)") })
    }

    /// A worker survives the service that started it, and with it a change of `webrtc.privateAddresses`.
    @Test(arguments: [nil, false, true] as [Bool?])
    func eachViewerDecidesAboutPrivateAddresses(_ ofSource: Bool?) {
        var machine = WhepMachine()
        #expect(machine.network(of: "near") == WebRTCNetwork())
        let network = WebRTCNetwork(publicAddress: "8.8.8.8", namesPrivateAddresses: ofSource)
        _ = machine.play(
            PlaySource(
                stream: "s", origin: .program(socket: "/r.sock"), network: network, silence: 10, patience: 30), now: 0)
        for (id, isTold) in [("near", true), ("far", false), ("old", nil)] as [(String, Bool?)] {
            _ = machine.view(PlayViewer(id: id, namesPrivateAddresses: isTold), offer: "o")
            #expect(machine.network(of: id).namesPrivateAddresses == isTold ?? ofSource, "\(id)")
            #expect(machine.network(of: id).publicAddress == "8.8.8.8")
        }
    }

    @Test func viewersAreLimited() {
        var limits = WhepMachine.Limits()
        limits.mostViewers = 2
        var machine = Self.machine(limits)
        Self.live("a", in: &machine)
        Self.live("b", in: &machine)
        #expect(
            machine.view(PlayViewer(id: "c"), offer: "o")
                == [.report(.refused(viewer: "c", reason: "2 viewers watch the stream, which is the limit"))])
        #expect(
            machine.close("a") == [.drop(viewer: "a"), .report(.ended(viewer: "a", reason: "the service ended it"))])
        Self.live("c", in: &machine)
        let twice = machine.view(PlayViewer(id: "c"), offer: "o")
        #expect(twice == [.report(.refused(viewer: "c", reason: "There is a viewer with this identifier already"))])
        let long = String(repeating: "x", count: 257)
        for viewer in [PlayViewer(id: long), PlayViewer(id: "n", note: long)] {
            guard case .report(.refused) = machine.view(viewer, offer: "o").first else {
                Issue.record("\(viewer) is taken")
                continue
            }
        }
    }

    @Test func aFailureConcernsOneViewerOnly() {
        var machine = Self.machine()
        Self.live("a", in: &machine)
        _ = machine.view(PlayViewer(id: "b"), offer: "o")
        #expect(machine.ended("b", "why") == [.drop(viewer: "b"), .report(.refused(viewer: "b", reason: "why"))])
        Self.live("c", in: &machine)
        #expect(machine.ended("c", "gone") == [.drop(viewer: "c"), .report(.ended(viewer: "c", reason: "gone"))])
        #expect(machine.ended("c", "gone") == [], "once")
        #expect(machine.connected == ["a"])
        #expect(machine.close("x") == [.report(.ended(viewer: "x", reason: "it is not there"))])
    }

    @Test func whoDoesNotConnectOrIsSilentIsEnded() {
        var machine = Self.machine()
        Self.live("a", in: &machine)
        _ = machine.view(PlayViewer(id: "b"), offer: "o")
        _ = machine.answered("b", "a", now: 0)
        #expect(machine.tick(["a": 9 * Self.second], now: 15 * Self.second) == [])
        #expect(
            machine.tick(["a": 9 * Self.second], now: 19 * Self.second) == [
                .drop(viewer: "a"), .report(.ended(viewer: "a", reason: "nothing was heard of the client for 10 s")),
            ])
        #expect(
            machine.tick([:], now: 20 * Self.second) == [
                .drop(viewer: "b"), .report(.ended(viewer: "b", reason: "the client did not connect within 20 s")),
            ])
    }

    @Test func theStreamIsConnectedToAgainUntilThePatienceEnds() {
        var machine = Self.machine()
        Self.live("a", in: &machine)
        let heard = ["a": Int64.max / 2]
        #expect(machine.feedEnded("the relay is gone", now: 100 * Self.second) == [])
        #expect(machine.tick(heard, now: 100 * Self.second) == [])
        #expect(machine.tick(heard, now: 100 * Self.second + 100_000_000) == [.dial])
        _ = machine.feedEnded("the relay is gone", now: 101 * Self.second)
        #expect(machine.tick(heard, now: 101 * Self.second + 250_000_000) == [.dial])
        machine.streamCame(now: .max / 2)
        #expect(machine.tick(heard, now: 200 * Self.second) == [], "it is back")
        _ = machine.feedEnded("the relay is gone", now: 300 * Self.second)
        #expect(machine.tick(heard, now: 329 * Self.second) == [.dial])
        #expect(
            machine.tick(heard, now: 330 * Self.second) == [
                .drop(viewer: "a"),
                .report(.ended(viewer: "a", reason: "the stream is away: the relay is gone")),
                .report(.failed(reason: "the stream is away: the relay is gone")), .finish,
            ])
        #expect(machine.tick(heard, now: 400 * Self.second) == [] && machine.isOver)
    }

    @Test func aStreamThatNeverComesEndsTheWorkerToo() {
        var machine = WhepMachine()
        _ = machine.play(Self.source, now: 0)
        #expect(machine.tick([:], now: 29 * Self.second) == [])
        #expect(
            machine.tick([:], now: 30 * Self.second) == [.report(.failed(reason: "the stream is away")), .finish])
    }

    @Test func aStreamOfWhichNothingComesIsAway() {
        var machine = Self.machine()
        machine.streamCame(now: 10 * Self.second)
        #expect(machine.tick([:], now: 39 * Self.second) == [])
        machine.streamCame(now: 39 * Self.second)
        #expect(machine.tick([:], now: 68 * Self.second) == [])
        let reason = "the stream is away: it sends nothing"
        #expect(machine.tick([:], now: 69 * Self.second) == [.report(.failed(reason: reason)), .finish])
    }

    @Test func requestsForKeyframesAreJoined() {
        var machine = Self.machine()
        Self.live("a", in: &machine)
        let heard = ["a": Int64.max / 2]
        for _ in 0..<5 { machine.keyframeRequested() }
        #expect(machine.tick(heard, now: Self.second) == [.requestKeyframe])
        #expect(machine.tick(heard, now: 2 * Self.second) == [], "nobody has asked again")
        machine.keyframeRequested()
        #expect(machine.tick(heard, now: 2 * Self.second) == [.requestKeyframe])
        machine.needsKeyframe()
        #expect(machine.tick(heard, now: 2 * Self.second + 349_000_000) == [])
        #expect(machine.tick(heard, now: 2 * Self.second + 350_000_000) == [.requestKeyframe])
        machine.needsKeyframe()
        machine.tookKeyframe()
        #expect(machine.tick(heard, now: 10 * Self.second) == [], "one came before it was asked for")
        #expect(machine.keyframeRequests == 6)
    }

    @Test func theServiceEndsAll() {
        var machine = Self.machine()
        Self.live("a", in: &machine)
        #expect(
            machine.end(nil) == [
                .drop(viewer: "a"), .report(.ended(viewer: "a", reason: "the service ended it")), .finish,
            ])
        #expect(machine.end(nil) == [])
        let late = machine.view(PlayViewer(id: "b"), offer: "o")
        #expect(late == [.report(.refused(viewer: "b", reason: "The stream has ended"))])
    }
}
