import MixModel
import TestSupport
import Testing

@testable import RoomService

/// A worker that plays and its viewers, without a process.
@Suite struct PlayMachineTests {
    private typealias Machine = PlayMachine
    private static let source = PlaySource(
        stream: "program auto-show", origin: .program(socket: "/x.sock"), network: WebRTCNetwork())
    private static let second: Int64 = 1_000_000_000
    private static let (ann, ben) = (PlayViewer(id: "ann", note: "n"), PlayViewer(id: "ben"))

    private static func hello(
        _ viewers: [PlayViewer] = [], stream: String? = nil, version: Int = PlayCommand.version
    ) -> Machine.Input {
        .report(.hello(version: version, process: 7, stream: stream, viewers: viewers))
    }

    private static func playing(_ viewers: PlayViewer...) -> Machine {
        var machine = Machine(source: source)
        _ = machine.take(.attached, now: 0)
        _ = machine.take(hello(), now: 0)
        for viewer in viewers {
            _ = machine.take(.view(viewer, offer: "offer"), now: 0)
            _ = machine.take(.report(.answered(viewer: viewer.id, answer: "answer")), now: 0)
        }
        return machine
    }

    @Test func viewersShareAWorker() {
        var machine = Machine(source: Self.source)
        let wake = Machine.Action.wake(after: Machine.answerLimit)
        #expect(machine.take(.view(Self.ann, offer: "a"), now: 0) == [wake])
        #expect(machine.take(.attached, now: 1) == [.send(.hello(version: PlayCommand.version))])
        #expect(machine.take(.view(Self.ben, offer: "b"), now: 1) == [wake])
        #expect(
            machine.take(Self.hello(), now: 2) == [
                .send(.play(Self.source)), .send(.view(Self.ann, offer: "a")), .send(.view(Self.ben, offer: "b")),
            ])
        #expect(
            machine.take(.report(.answered(viewer: "ann", answer: "x")), now: 3) == [.answer(viewer: "ann", "x")])
        #expect(machine.take(.report(.answered(viewer: "ann", answer: "y")), now: 3) == [])
        #expect(
            machine.take(.report(.refused(viewer: "ben", reason: "no H.264")), now: 3)
                == [.refuse(viewer: "ben", reason: "no H.264")])
        #expect(machine.take(.report(.connected(viewer: "ann")), now: 4) == [.connected(viewer: "ann")])
        #expect(machine.take(.report(.connected(viewer: "ben")), now: 4) == [])
        #expect(
            machine.take(.candidates(viewer: "ann", fragment: "c"), now: 4)
                == [.send(.candidates(viewer: "ann", fragment: "c"))])
        #expect(machine.take(.candidates(viewer: "ben", fragment: "c"), now: 4) == [])
        // After the last viewer leaves, the worker stays for a while.
        #expect(
            machine.take(.close(viewer: "ann"), now: 5) == [
                .send(.close(viewer: "ann")), .ended(viewer: "ann", reason: "the client has left"),
                .wake(after: Machine.idleLimit),
            ])
        #expect(machine.take(.tick, now: 10 * Self.second) == [])
        #expect(machine.take(.view(Self.ben, offer: "b"), now: 10 * Self.second).contains(wake))
        _ = machine.take(.report(.answered(viewer: "ben", answer: "x")), now: 10 * Self.second)
        #expect(machine.take(.tick, now: 16 * Self.second) == [])
        #expect(
            machine.take(.report(.ended(viewer: "ben", reason: "silent")), now: 20 * Self.second)
                == [.ended(viewer: "ben", reason: "silent"), .wake(after: Machine.idleLimit)])
        #expect(
            machine.take(.tick, now: 30 * Self.second)
                == [.send(.terminate), .end(reason: "it has no viewers"), .wake(after: Machine.endLimit)])
        #expect(
            machine.take(.view(Self.ann, offer: "a"), now: 30 * Self.second)
                == [.refuse(viewer: "ann", reason: "the worker is about to end")])
        #expect(!machine.isOver(now: 30 * Self.second) && machine.isOver(now: 32 * Self.second))
    }

    @Test func everyFaultBeforeTheAnswerRefuses() {
        func refusal(_ inputs: [Machine.Input], now: Int64 = 5) -> String? {
            var machine = Machine(source: Self.source)
            _ = machine.take(.view(Self.ann, offer: "a"), now: 0)
            _ = machine.take(.attached, now: 1)
            var found: [String] = []
            for input in inputs {
                for case .refuse(_, let reason) in machine.take(input, now: now) { found.append(reason) }
            }
            return found.count == 1 ? found[0] : nil
        }
        #expect(refusal([Self.hello(), .report(.refused(viewer: "ann", reason: "no"))]) == "no")
        #expect(refusal([Self.hello(), .report(.ended(viewer: "ann", reason: "gone"))]) == "gone")
        #expect(refusal([Self.hello(), .report(.failed(reason: "no stream"))]) == "no stream")
        #expect(refusal([.lost(reason: "exited")]) == "exited")
        #expect(refusal([Self.hello(), .close(viewer: "ann")]) == "the client has left")
        #expect(refusal([.tick], now: 5 * Self.second) == "the worker did not answer within 5 s")
        #expect(refusal([Self.hello(), .tick], now: 5 * Self.second) == "the worker did not answer within 5 s")
        #expect(refusal([Self.hello(), .tick], now: 4 * Self.second) == nil)
        #expect(refusal([Self.hello(version: PlayCommand.version + 1)])?.contains("version") == true)
        let large = String(repeating: "x", count: WebRTCCommand.longestDescription + 1)
        #expect(refusal([Self.hello(), .report(.answered(viewer: "ann", answer: large))]) == "the answer is too large")
        #expect(
            refusal([Self.hello(), .report(.refused(viewer: "ann", reason: large))]).map { $0.utf8.count <= 400 }
                == true)
    }

    @Test func aWorkerOfAnEarlierRunKeepsItsViewers() {
        var machine = Machine()
        _ = machine.take(.attached, now: 0)
        let greeted = machine.take(Self.hello([Self.ann], stream: "program auto-show"), now: 0)
        #expect(greeted == [.adopted(stream: "program auto-show", viewers: [Self.ann])])
        #expect(
            machine.take(.close(viewer: "ann"), now: 1).first == .send(.close(viewer: "ann")))

        machine = Machine()
        let empty = machine.take(Self.hello(stream: "program auto-show"), now: 0)
        #expect(
            empty == [.adopted(stream: "program auto-show", viewers: []), .wake(after: Machine.idleLimit)])
        machine = Machine()
        #expect(machine.take(Self.hello(), now: 0).contains(.send(.terminate)))
    }

    /// A new connection settles the losses of the time without one.
    @Test func aNewConnectionSettlesWhatWasLost() {
        var machine = Self.playing(Self.ann, Self.ben)
        _ = machine.take(.view(PlayViewer(id: "cem"), offer: "c"), now: 1)
        _ = machine.take(.view(PlayViewer(id: "dia"), offer: "d"), now: 1)
        _ = machine.take(.detached, now: 1)
        _ = machine.take(.attached, now: 2)
        // ann has ended, the answer for cem was lost, the offer of dia did not arrive, and eve had been closed.
        let actions = machine.take(
            Self.hello([Self.ben, PlayViewer(id: "cem"), PlayViewer(id: "eve")], stream: "s"), now: 2)
        let lost = "the connection to the worker was lost"
        #expect(
            actions == [
                .send(.close(viewer: "eve")), .ended(viewer: "ann", reason: lost), .refuse(viewer: "cem", reason: lost),
                .send(.close(viewer: "cem")), .send(.view(PlayViewer(id: "dia"), offer: "d")),
            ])
    }

    /// Clients are told once that they play.
    @Test func aNewConnectionDoesNotRepeatThatViewersAreConnected() {
        var machine = Self.playing(Self.ann, Self.ben)
        let connected = Machine.Input.report(.connected(viewer: "ann"))
        #expect(machine.take(connected, now: 1) == [.connected(viewer: "ann")])
        _ = machine.take(.detached, now: 2)
        _ = machine.take(.attached, now: 3)
        #expect(machine.take(Self.hello([Self.ann, Self.ben], stream: "s"), now: 3) == [])
        #expect(machine.take(connected, now: 3) == [])
        // This report was lost with the connection.
        let late = machine.take(.report(.connected(viewer: "ben")), now: 3)
        #expect(late == [.connected(viewer: "ben")])

        var adopted = Machine()
        _ = adopted.take(.attached, now: 0)
        _ = adopted.take(Self.hello([Self.ann], stream: "s"), now: 0)
        #expect(adopted.take(connected, now: 0) == [.connected(viewer: "ann")])
    }

    /// With any inputs in any order, each viewer gets one answer or refusal, and one end if it got an answer.
    @Test func noOrderOfInputsSettlesAViewerTwice() {
        var random = SeededGenerator(announcedFor: "noOrderOfInputsSettlesAViewerTwice")
        for _ in 0..<TestLength.of(short: 2_000, long: 200_000) {
            var machine = Bool.random(using: &random) ? Machine(source: Self.source) : Machine()
            var (settled, ended, ends, now) = ([String: Int](), [String: Int](), 0, Int64(0))
            var (asked, adopted) = (Set<String>(), Set<String>())
            for number in 0..<30 {
                now += Int64.random(in: 0..<2 * Self.second, using: &random)
                let known = asked.union(adopted).randomElement(using: &random) ?? "nobody"
                let inputs: [Machine.Input] = [
                    .attached, .detached, .lost(reason: "l"), .tick, .close(viewer: known),
                    .candidates(viewer: known, fragment: "c"), .view(PlayViewer(id: "v\(number)"), offer: "o"),
                    .view(PlayViewer(id: "v\(number)"), offer: "o"), Self.hello(), Self.hello([Self.ann], stream: "s"),
                    Self.hello([PlayViewer(id: known)], stream: "s"), .report(.answered(viewer: known, answer: "a")),
                    .report(.refused(viewer: known, reason: "r")), .report(.connected(viewer: known)),
                    .report(.ended(viewer: known, reason: "e")), .report(.figures(PlayFigures())),
                    .terminate(reason: "t"), .report(.failed(reason: "f")),
                ]
                // The last two inputs end everything, so they are rare.
                let most = Int.random(in: 0..<10, using: &random) == 0 ? inputs.count : inputs.count - 2
                let input = inputs[Int.random(in: 0..<most, using: &random)]
                if case .view(let viewer, _) = input { asked.insert(viewer.id) }
                for action in machine.take(input, now: now) {
                    switch action {
                    case .answer(let viewer, _), .refuse(let viewer, _): settled[viewer, default: 0] += 1
                    case .ended(let viewer, _): ended[viewer, default: 0] += 1
                    case .adopted(_, let viewers): adopted.formUnion(viewers.map(\.id))
                    case .end: ends += 1
                    default: break
                    }
                }
            }
            #expect(ends <= 1)
            #expect(settled.values.allSatisfy { $0 == 1 } && ended.values.allSatisfy { $0 == 1 })
            #expect(ends == 0 || asked.subtracting(settled.keys).isEmpty)
            #expect(ended.keys.allSatisfy { adopted.contains($0) || settled[$0] == 1 })
        }
    }
}
