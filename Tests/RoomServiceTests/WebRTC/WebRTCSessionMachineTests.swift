import MixModel
import TestSupport
import Testing

@testable import RoomService

/// A session from its offer to its end, without a worker.
@Suite struct WebRTCSessionMachineTests {
    private typealias Machine = WebRTCSessionMachine
    private static let publisher = WebRTCPublisher(offer: "v=0", target: "rtmp://x/y", network: WebRTCNetwork())
    private static let second: Int64 = 1_000_000_000

    private static let busy = "ICE cannot be restarted at the moment: try again"

    private static func started() -> Machine { Machine(publisher: publisher, now: 0) }

    private static func opened() -> Machine {
        var machine = started()
        _ = machine.take(.attached, now: 1)
        _ = machine.take(.report(.hello(version: WebRTCCommand.version, process: 7)), now: 2)
        _ = machine.take(.report(.answered(answer: "answer")), now: 3)
        return machine
    }

    @Test func anOfferIsAnswered() {
        var machine = Self.started()
        #expect(machine.take(.attached, now: 1) == [.send(.hello(version: WebRTCCommand.version))])
        #expect(
            machine.take(.report(.hello(version: WebRTCCommand.version, process: 7)), now: 2)
                == [.send(.publish(Self.publisher))])
        // A second connection changes nothing: the offer is sent once.
        #expect(machine.take(.detached, now: 2) == [])
        #expect(machine.take(.attached, now: 2) == [.send(.hello(version: WebRTCCommand.version))])
        #expect(machine.take(.report(.hello(version: WebRTCCommand.version, process: 7)), now: 2) == [])
        #expect(machine.take(.report(.answered(answer: "answer")), now: 3) == [.answer("answer")])
        #expect(machine.take(.report(.answered(answer: "again")), now: 3) == [])
        #expect(!machine.isConnected)
        #expect(machine.take(.report(.connected), now: 4) == [.connected])
        #expect(machine.take(.report(.connected), now: 4) == [])
        #expect(machine.isConnected && !machine.isOver(now: 4))
        // The time limit for the answer passes without effect.
        #expect(machine.take(.tick, now: 6 * Self.second) == [])
        let end = machine.take(.report(.ended(reason: "silent\nfor 3 s")), now: 7 * Self.second)
        #expect(end == [.end(reason: #"silent\nfor 3 s"#), .wake(after: Machine.endLimit)])
        #expect(!machine.isOver(now: 7 * Self.second))
        #expect(machine.take(.close(reason: "late"), now: 7 * Self.second) == [])
        #expect(machine.take(.lost(reason: "gone"), now: 7 * Self.second) == [])
        #expect(machine.isOver(now: 7 * Self.second))
    }

    @Test func everyFaultBeforeTheAnswerRefuses() {
        func refusal(_ inputs: [Machine.Input], now: Int64 = 5) -> String? {
            var machine = Self.started()
            _ = machine.take(.attached, now: 1)
            var found: [String] = []
            for input in inputs {
                for case .refuse(let reason) in machine.take(input, now: now) { found.append(reason) }
            }
            return found.count == 1 ? found[0] : nil
        }
        let hello = Machine.Input.report(.hello(version: WebRTCCommand.version, process: 7))
        #expect(refusal([hello, .report(.refused(reason: "no element"))]) == "no element")
        #expect(refusal([.report(.refused(reason: "another service"))]) == "another service")
        #expect(refusal([hello, .report(.ended(reason: "gone"))]) == "gone")
        #expect(refusal([.lost(reason: "exited")]) == "exited")
        #expect(refusal([hello, .close(reason: "left")]) == "left")
        #expect(refusal([hello, .tick], now: 5 * Self.second) == "the worker did not answer within 5 s")
        #expect(refusal([.tick], now: 5 * Self.second) == "the worker did not answer within 5 s")
        #expect(refusal([hello, .tick], now: 4 * Self.second) == nil)
        let other = Machine.Input.report(.hello(version: WebRTCCommand.version + 1, process: 7))
        #expect(refusal([other])?.contains("version") == true)
        let large = String(repeating: "x", count: WebRTCCommand.longestDescription + 1)
        #expect(refusal([hello, .report(.answered(answer: large))]) == "the worker's answer is too large")
        #expect(
            refusal([hello, .report(.refused(reason: large))]).map { $0.utf8.count <= 400 } == true)
    }

    @Test func iceIsRestartedOneAtATime() {
        var machine = Self.opened()
        #expect(machine.take(.candidates(fragment: "c"), now: 4) == [.send(.candidates(fragment: "c"))])
        #expect(
            machine.take(.restart(fragment: "r"), now: 4)
                == [.send(.restart(fragment: "r")), .wake(after: Machine.answerLimit)])
        #expect(machine.take(.restart(fragment: "s"), now: 4) == [.notRestarted(reason: Self.busy)])
        #expect(machine.take(.report(.restarted(fragment: "f")), now: 5) == [.restarted(fragment: "f")])
        #expect(machine.take(.report(.restarted(fragment: "f")), now: 5) == [])
        _ = machine.take(.restart(fragment: "r"), now: 6)
        #expect(machine.take(.report(.refused(reason: "no")), now: 6) == [.restartRefused(reason: "no")])
        _ = machine.take(.restart(fragment: "r"), now: 7)
        #expect(machine.take(.tick, now: 8) == [])
        #expect(
            machine.take(.tick, now: 7 + 5 * Self.second)
                == [.notRestarted(reason: "the worker did not answer within 5 s")])
        _ = machine.take(.restart(fragment: "r"), now: 8)
        #expect(
            machine.take(.lost(reason: "killed"), now: 9)
                == [.notRestarted(reason: "killed"), .end(reason: "killed"), .wake(after: Machine.endLimit)])
        #expect(machine.take(.candidates(fragment: "c"), now: 9) == [])
    }

    @Test func anAdoptedSessionIsOpen() {
        var machine = Machine()
        #expect(machine.take(.restart(fragment: "r"), now: 0) == [.notRestarted(reason: Self.busy)])
        #expect(machine.take(.attached, now: 0) == [.send(.hello(version: WebRTCCommand.version))])
        #expect(machine.take(.report(.hello(version: WebRTCCommand.version, process: 7)), now: 0) == [])
        #expect(machine.take(.report(.connected), now: 0) == [.connected])
        #expect(
            machine.take(.close(reason: "off"), now: 1)
                == [.send(.terminate), .end(reason: "off"), .wake(after: Machine.endLimit)])
        // A worker that is reached only now is told to end.
        #expect(
            machine.take(.attached, now: 2) == [.send(.hello(version: WebRTCCommand.version)), .send(.terminate)])
        // The machine does not wait for ever for a worker that does not end.
        #expect(!machine.isOver(now: Self.second) && machine.isOver(now: 1 + 2 * Self.second))
    }

    /// Only the worker reports the kind of an end. Ends that the service notices have no kind.
    @Test func theCauseOfAnEndIsPassedOn() {
        func cause(_ input: Machine.Input) -> WebRTCEndCause? {
            var machine = Self.opened()
            for case .end(_, let cause) in machine.take(input, now: 4) { return cause }
            return nil
        }
        #expect(cause(.report(.ended(reason: "r", cause: .streamReplaced))) == .streamReplaced)
        #expect(cause(.report(.ended(reason: "r"))) == nil)
        #expect(cause(.lost(reason: WebRTCReport.notTaken)) == nil)
    }

    /// With any inputs in any order, there is one answer or refusal, at most one end, and nothing after it.
    @Test func noOrderOfInputsAnswersTwice() {
        var random = SeededGenerator(announcedFor: "noOrderOfInputsAnswersTwice")
        let inputs: [Machine.Input] = [
            .attached, .detached, .lost(reason: "l"), .candidates(fragment: "c"), .restart(fragment: "r"),
            .close(reason: "x"), .tick, .report(.hello(version: WebRTCCommand.version, process: 1)),
            .report(.refused(reason: "r")), .report(.answered(answer: "a")), .report(.restarted(fragment: "f")),
            .report(.connected), .report(.ended(reason: "e")), .report(.figures(WebRTCFigures())),
        ]
        for _ in 0..<TestLength.of(short: 2_000, long: 200_000) {
            var machine = Self.started()
            var (settled, ends, restarts, restarted, now) = (0, 0, 0, 0, Int64(0))
            for _ in 0..<30 {
                now += Int64.random(in: 0..<Self.second, using: &random)
                guard let input = inputs.randomElement(using: &random) else { break }
                let hadEnded = ends > 0
                for action in machine.take(input, now: now) {
                    switch action {
                    case .answer, .refuse: settled += 1
                    case .end: ends += 1
                    case .send(.restart): restarts += 1
                    case .restarted: restarted += 1
                    case .notRestarted, .restartRefused, .send(.hello), .send(.terminate): break
                    default: #expect(!hadEnded, "\(action)")
                    }
                }
            }
            #expect(settled <= 1 && ends <= 1 && restarted <= restarts)
            #expect(ends == 0 || settled == 1)
        }
    }
}
