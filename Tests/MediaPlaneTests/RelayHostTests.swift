import Foundation
import Logging
import MixModel
import Synchronization
import Testing

@testable import EncodedMedia
@testable import ProgramRelay
@testable import RTMP
@testable import TextFormats

/// Several relays in one process: each behaves as if alone, and all obey the same service.
@Suite(.serialized, .timeLimit(.minutes(3))) struct RelayHostTests {
    /// The messages of a connection, line by line.
    private final class Heard<Message: Decodable & Sendable>: Sendable {
        private let state = Mutex<(lines: LineBuffer, messages: [Message])>((LineBuffer(), []))

        var all: [Message] { state.withLock { $0.messages } }

        func take(_ bytes: [UInt8]) {
            state.withLock { state in
                for line in state.lines.push(bytes) ?? [] {
                    if let message = try? JSONDecoder().decode(Message.self, from: Data(line)) {
                        state.messages.append(message)
                    }
                }
            }
        }
    }

    /// A host, and the service that controls it.
    private final class Stage: Sendable {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(
            "rh\(UInt32.random(in: 0...99_999_999))")
        let host: RelayHost
        let service: SocketChannel
        let reports = Heard<RelayHostReport>()
        let run: Task<Void, Never>

        init() throws {
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            var ends: [Int32] = [-1, -1]
            try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
            let shares = CPUShares()
            host = RelayHost(descriptor: ends[1]) { task, socket in
                Relay(
                    Relay.Configuration(
                        task: task, socketPath: socket, orphanTimeout: 60, worker: URL(fileURLWithPath: "/nowhere"),
                        shares: shares), logger: Logger(label: "test"))
            }
            service = SocketChannel(descriptor: ends[0], onBytes: { [reports] in reports.take($0) }, onClosed: {})
            run = Task { [host] in await host.run() }
        }

        func socket(_ name: String) -> String { directory.appendingPathComponent("\(name).sock").path }

        func tell(_ command: RelayHostCommand) throws {
            service.send([UInt8](try JSONEncoder().encode(command)) + [0x0A])
        }

        func tell(_ command: RelayCommand, _ channel: SocketChannel) throws {
            channel.send([UInt8](try JSONEncoder().encode(command)) + [0x0A])
        }

        /// Connects to a relay, which identifies itself.
        func connect(_ name: String) async throws -> (channel: SocketChannel, heard: Heard<RelayReport>) {
            let heard = Heard<RelayReport>()
            let channel = try await RelayRig.connect(socket(name)) { heard.take($0) }
            try tell(.hello(version: RelayCommand.version), channel)
            #expect(try await outputEventually { heard.all.contains { $0.task == TaskID(name) } })
            return (channel, heard)
        }

        func end() async throws {
            service.close()
            host.terminate()
            await run.value
            try FileManager.default.removeItem(at: directory)
        }
    }

    @Test func relaysInOneProcessComeAndGoOnTheirOwn() async throws {
        let stage = try Stage()
        try stage.tell(.run(number: 1, task: "a", socket: stage.socket("a")))
        try stage.tell(.run(number: 2, task: "b", socket: stage.socket("b")))
        let first = try await stage.connect("a")
        let second = try await stage.connect("b")
        #expect(first.heard.all.contains { $0.sharesProcess } && second.heard.all.contains { $0.sharesProcess })
        let file = stage.socket("a").replacing(".sock", with: ".pid")
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "\(getpid())\n")
        try stage.tell(.drain, first.channel)
        #expect(try await outputEventually { stage.reports.all == [.ended(number: 1, failure: nil)] })
        #expect(access(file, F_OK) != 0 && access(stage.socket("a"), F_OK) != 0)
        // The other one continues, and the place of the first is free.
        let before = second.heard.all.count
        #expect(try await outputEventually { second.heard.all.count > before })
        try stage.tell(.run(number: 3, task: "a", socket: stage.socket("a")))
        let third = try await stage.connect("a")
        for channel in [first.channel, second.channel, third.channel] { channel.close() }
        try await stage.end()
    }

    /// The process goes on with another relay, and viewers learn all the same that theirs is gone.
    @Test func whoWatchesARelayThatEndsIsTold() async throws {
        let stage = try Stage()
        try stage.tell(.run(number: 1, task: "a", socket: stage.socket("a")))
        try stage.tell(.run(number: 2, task: "b", socket: stage.socket("b")))
        let first = try await stage.connect("a")
        let second = try await stage.connect("b")
        let hasEnded = Mutex(false)
        let viewer = SocketChannel(
            descriptor: try #require(UnixListener.dial(stage.socket("a"))), onBytes: { _ in },
            onClosed: { hasEnded.withLock { $0 = true } })
        try stage.tell(.viewFLV(), viewer)
        try stage.tell(.drain, first.channel)
        #expect(try await outputEventually { hasEnded.withLock { $0 } })
        let before = second.heard.all.count
        #expect(try await outputEventually { second.heard.all.count > before })
        for channel in [first.channel, second.channel, viewer] { channel.close() }
        try await stage.end()
    }

    /// A relay that stands by and is forgotten ends at its deadline, and no other one ends with it.
    @Test func aForgottenStandbyEndsAlone() async throws {
        let stage = try Stage()
        try stage.tell(.run(number: 1, task: "a", socket: stage.socket("a")))
        try stage.tell(.run(number: 2, task: "b", socket: stage.socket("b")))
        let first = try await stage.connect("a")
        let second = try await stage.connect("b")
        try stage.tell(.hold(until: BootClock.now() + 4_000_000_000), first.channel)
        try stage.tell(.standBy, first.channel)
        #expect(
            try await outputEventually {
                first.heard.all.contains { if case .status(let status) = $0 { status.isSilent } else { false } }
            })
        #expect(try await outputEventually { stage.reports.all == [.ended(number: 1, failure: nil)] })
        let before = second.heard.all.count
        #expect(try await outputEventually { second.heard.all.count > before })
        for channel in [first.channel, second.channel] { channel.close() }
        try await stage.end()
    }

    @Test func anAbandonedRelayIsOverAtOnceAndItsSocketIsFree() async throws {
        let stage = try Stage()
        try stage.tell(.run(number: 1, task: "a", socket: stage.socket("a")))
        let first = try await stage.connect("a")
        try stage.tell(.abandon(number: 1))
        try stage.tell(.run(number: 2, task: "a", socket: stage.socket("a")))
        #expect(try await outputEventually { stage.reports.all == [.ended(number: 1, failure: nil)] })
        let second = try await stage.connect("a")
        // The socket of this path has a listener.
        try stage.tell(.run(number: 3, task: "a", socket: stage.socket("a")))
        #expect(
            try await outputEventually {
                stage.reports.all.contains { report in
                    if case .ended(3, let failure?) = report { failure.contains("already listens") } else { false }
                }
            })
        try stage.tell(.terminate(number: 2))
        #expect(try await outputEventually { stage.reports.all.contains(.ended(number: 2, failure: nil)) })
        for channel in [first.channel, second.channel] { channel.close() }
        try await stage.end()
    }

    /// A service that the relay itself has disconnected does not keep the program on air for ever.
    @Test func aDisconnectedServiceIsMissed() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(
            "rh\(UInt32.random(in: 0...99_999_999))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let socket = directory.appendingPathComponent("a.sock").path
        let relay = Relay(
            Relay.Configuration(
                task: "a", socketPath: socket, orphanTimeout: 5, worker: URL(fileURLWithPath: "/nowhere")),
            logger: Logger(label: "test"))
        let isOver = Mutex(false)
        let run = Task {
            try await relay.run()
            isOver.withLock { $0 = true }
        }
        defer { relay.terminate() }
        let heard = Heard<RelayReport>()
        let channel = try await RelayRig.connect(socket) { heard.take($0) }
        channel.send([UInt8](try JSONEncoder().encode(RelayCommand.hello(version: RelayCommand.version))) + [0x0A])
        #expect(try await outputEventually { heard.all.contains { $0.task == TaskID("a") } })
        // A connection that controls the program gets no previews.
        channel.send([UInt8](try JSONEncoder().encode(RelayCommand.preview(of: nil, picture: true))) + [0x0A])
        try #require(try await outputEventually(within: .seconds(60)) { isOver.withLock { $0 } }, "it waits for ever")
        try await run.value
        channel.close()
        try FileManager.default.removeItem(at: directory)
    }

    /// The service is gone: programs continue, and the process ends with the last one.
    @Test func relaysOutliveTheService() async throws {
        let stage = try Stage()
        try stage.tell(.run(number: 1, task: "a", socket: stage.socket("a")))
        let first = try await stage.connect("a")
        stage.service.close()
        let before = first.heard.all.count
        #expect(try await outputEventually { first.heard.all.count > before + 1 })
        try stage.tell(.drain, first.channel)
        await stage.run.value
        first.channel.close()
        try await stage.end()
    }
}

extension RelayReport {
    fileprivate var task: TaskID? {
        if case .status(let status) = self { status.task } else { nil }
    }

    fileprivate var sharesProcess: Bool {
        if case .status(let status) = self { status.sharesProcess } else { false }
    }
}
