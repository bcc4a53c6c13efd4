import EncodedMedia
import MixModel
import RTMP
import TestSupport
import TextFormats
import Testing

@testable import MediaFormats
@testable import StreamIngest

/// The decisions of the ingest, without sockets.
@Suite struct IngestMachineTests {
    private static let second: Int64 = 1_000_000_000
    private static let publish = RTMPStreamRequest(
        kind: .publish, application: "live", name: "lobby__alice", query: "token=t")
    private static let key = "default/lobby/alice/camera"

    private static let proof = "relay=" + RTMPRelayProof.text(stream: key, secret: "s3cret")

    private static func relay(_ query: String = proof) -> RTMPStreamRequest {
        RTMPStreamRequest(kind: .play, application: "relay/default/lobby/alice", name: "camera", query: query)
    }

    private func book(grace: Double = 10, limits: IngestMachine.Limits = .init()) -> IngestMachine {
        var book = IngestMachine(run: "r", limits: limits)
        book.configure(IngestSettings(host: "127.0.0.1", port: 0, grace: grace, secret: "s3cret"))
        _ = book.attended(process: 1)
        return book
    }

    /// Makes a connection publish with the orchestrator's permission.
    private func publish(_ book: inout IngestMachine, _ connection: Int, now: Int64 = 0, as key: String = key)
        -> [IngestMachine.Action]
    {
        guard case .tell(.ask(let ask))? = book.requested(Self.publish, by: connection, address: "::1", now: now).first
        else {
            Issue.record("nobody was asked")
            return []
        }
        return book.allowed(ask.request, session: ask.session, stream: key, now: now)
    }

    @Test func thePublisherBeginsWhenTheServiceAgrees() {
        var book = book()
        let asked = book.requested(Self.publish, by: 4, address: "10.0.0.1", now: 0)
        let ask = IngestRequest(
            request: 1, isPublish: true, application: "live", name: "lobby__alice", query: "token=t",
            address: "10.0.0.1", session: "r-1")
        #expect(asked == [.tell(.ask(ask))])
        #expect(
            book.allowed(1, session: "r-1", stream: Self.key, now: 1)
                == [.accept(connection: 4), .begin(stream: Self.key, connection: 4)])
        #expect(book.publishers == 1 && book.waitingRequests == 0)
        #expect(book.allowed(1, session: "r-1", stream: Self.key, now: 1).isEmpty, "an answer counts once")
    }

    @Test func aProgramIsPlayedFromItsRelay() {
        var book = book()
        let wish = RTMPStreamRequest(kind: .play, application: "program", name: "lobby", query: "")
        guard case .tell(.ask(let ask))? = book.requested(wish, by: 4, address: "::1", now: 0).first else {
            Issue.record("nobody was asked")
            return
        }
        #expect(!ask.isPublish && ask.application == "program" && ask.name == "lobby")
        #expect(book.programAllowed(ask.request, session: "other", task: "auto-lobby", socket: "/s").isEmpty)
        #expect(
            book.programAllowed(ask.request, session: ask.session, task: "auto-lobby", socket: "/s") == [
                .accept(connection: 4), .feed(stream: "program/auto-lobby", socket: "/s", connection: 4),
            ])
        #expect(book.waitingRequests == 0)
        guard case .tell(.ask(let next))? = book.requested(wish, by: 6, address: "::1", now: 0).first else {
            Issue.record("nobody was asked")
            return
        }
        let detour = ProgramDetour(socket: "/p", task: "auto-lobby", room: "lobby")
        #expect(
            book.programAllowed(
                next.request, session: next.session, task: "auto-lobby", socket: "/s", detour: detour
            ).last == .feed(stream: "program/auto-lobby", socket: "/s", detour: detour, connection: 6))
        // A program's permission does not admit a publisher.
        guard case .tell(.ask(let other))? = book.requested(Self.publish, by: 5, address: "::1", now: 0).first else {
            Issue.record("nobody was asked")
            return
        }
        #expect(book.programAllowed(other.request, session: other.session, task: "t", socket: "/s").isEmpty)
        #expect(book.waitingRequests == 1, "it still waits for its answer")
    }

    /// A restarted ingest counts its requests from 1.
    @Test func theAnswerToAnEarlierProcessIsNobodys() {
        var book = book()
        _ = book.requested(Self.publish, by: 4, address: "::1", now: 0)
        #expect(
            book.allowed(1, session: "earlier-1", stream: Self.key, now: 1) == [
                .tell(.ended(stream: Self.key, session: "earlier-1", reason: "left before it began"))
            ])
        #expect(book.waitingRequests == 1)
        #expect(book.allowed(1, session: "r-1", stream: Self.key, now: 2).first == .accept(connection: 4))
    }

    @Test func whatARelaySendsIsCutIntoTags() throws {
        let tags = [
            FLVTag(role: .metadata, timestamp: 0, body: [2, 0, 10] + Array("onMetaData".utf8)),
            FLVTag(role: .sequenceHeader(.video), timestamp: 0, body: [0x17, 0, 0, 0, 0, 1]),
            FLVTag(
                role: .frame(.video, isIDR: true), timestamp: 0xFFFF_FFF0,
                body: [0x17, 1, 0, 0, 0] + [UInt8](repeating: 7, count: 70_000)),
            FLVTag(role: .frame(.audio, isIDR: false), timestamp: 3, body: [0xAF, 1, 9]),
        ]
        let bytes = FLVTag.fileHeader + tags.flatMap(\.encoded)
        for size in [1, 7, 65_536, bytes.count] {
            var splitter = FLVSplitter()
            var found: [FLVTag] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                found += try splitter.push(Array(rest.prefix(size)))
                rest = rest.dropFirst(size)
            }
            #expect(found == tags, "in pieces of \(size)")
        }
        var splitter = FLVSplitter()
        #expect(throws: FLVSplitter.Fault.self) { try splitter.push(Array("HTTP/1.1 404 Not Found".utf8)) }
        var other = FLVSplitter()
        #expect(throws: FLVSplitter.Fault.self) {
            try other.push(FLVTag.fileHeader + [3] + [UInt8](repeating: 0, count: 14))
        }
    }

    @Test func layoutsAreForPlayersOfFLV() throws {
        let metadata = FLVTag(role: .metadata, timestamp: 0, body: [2, 0, 10] + Array("onMetaData".utf8))
        let layout = FLVCue(name: FLVCue.layout, text: "{}").tag(at: 0)
        var splitter = FLVSplitter()
        #expect(try splitter.push(FLVTag.fileHeader + layout.encoded + metadata.encoded) == [metadata])
    }

    @Test func whatIsNotSupportedIsOverAtOnce() {
        var book = book()
        _ = publish(&book, 4)
        let words = "audio codec Opus is not supported"
        #expect(
            book.left(4, isClean: false, isRefused: true, reason: words, now: 5) == [
                .tell(.ended(stream: Self.key, session: "r-1", reason: words, isRefused: true)), .end(stream: Self.key),
            ])
        #expect(book.count == 0 && book.deadline == .max)
    }

    @Test func aCleanEndIsOneAtOnceAndALossAfterTheGrace() {
        var book = book()
        _ = publish(&book, 4)
        #expect(
            book.left(4, isClean: true, reason: "bye", now: 5)
                == [.tell(.ended(stream: Self.key, session: "r-1", reason: "bye")), .end(stream: Self.key)])
        _ = publish(&book, 5)
        #expect(
            book.left(5, isClean: false, reason: "lost", now: Self.second)
                == [.tell(.interrupted(stream: Self.key, session: "r-2", reason: "lost"))])
        #expect(book.deadline == 11 * Self.second)
        #expect(book.tick(now: 11 * Self.second - 1).isEmpty)
        // A publisher that returns in time keeps the stream.
        #expect(
            publish(&book, 6, now: 5 * Self.second) == [
                .accept(connection: 6), .begin(stream: Self.key, connection: 6),
            ])
        #expect(book.tick(now: 20 * Self.second).isEmpty)
        _ = book.left(6, isClean: false, reason: "lost", now: 20 * Self.second)
        #expect(
            book.tick(now: 30 * Self.second) == [
                .tell(.ended(stream: Self.key, session: "r-3", reason: "did not come back within 10.0 s")),
                .end(stream: Self.key),
            ])
        #expect(book.count == 0 && book.deadline == .max)
    }

    /// The end of a process on this machine is no hiccup of a network, for which the last picture would stay.
    @Test func theLossOfAWorkerIsShownAtOnce() {
        var book = book()
        let wish = RTMPStreamRequest(
            kind: .publish, application: "publish/default/lobby/alice", name: "camera", query: "proof=p")
        guard case .tell(.ask(let ask))? = book.requested(wish, by: 4, address: "127.0.0.1", now: 0).first else {
            Issue.record("nobody was asked")
            return
        }
        _ = book.allowed(ask.request, session: ask.session, stream: Self.key, now: 0)
        #expect(
            book.left(4, isClean: false, reason: "lost", now: 5) == [
                .tell(.interrupted(stream: Self.key, session: "r-1", reason: "lost")), .pause(stream: Self.key),
            ])
        // Another publisher in its place is judged by itself.
        _ = publish(&book, 5)
        #expect(
            book.left(5, isClean: false, reason: "lost", now: 6)
                == [.tell(.interrupted(stream: Self.key, session: "r-2", reason: "lost"))])
    }

    @Test func aSecondPublisherTakesOver() {
        var book = book()
        _ = publish(&book, 4)
        #expect(
            publish(&book, 5) == [
                .refuse(connection: 4, .badName("another publisher has taken over this stream key")),
                .accept(connection: 5), .begin(stream: Self.key, connection: 5),
            ])
        #expect(book.left(4, isClean: false, reason: "refused", now: 1).isEmpty, "the first one's end is none")
        #expect(book.publishers == 1)
    }

    /// A stream that another node has taken over ends here, whether its publisher is connected or lost, and no other
    /// stream ends.
    @Test(arguments: [true, false]) func aTakeoverAtAnotherNodeEndsTheStream(isConnected: Bool) {
        var book = book()
        _ = publish(&book, 4)
        if !isConnected { _ = book.left(4, isClean: false, reason: "lost", now: 1) }
        #expect(book.takenOver(Self.key, session: "r-0").isEmpty, "the publisher is another one by now")
        #expect(book.takenOver("default/lobby/bob/camera", session: "r-1").isEmpty)
        let ended: [IngestMachine.Action] = [
            .tell(.ended(stream: Self.key, session: "r-1", reason: "another node has it")), .end(stream: Self.key),
        ]
        let refused: [IngestMachine.Action] = [
            .refuse(connection: 4, .badName("another publisher has taken over this stream key"))
        ]
        #expect(book.takenOver(Self.key, session: "r-1") == (isConnected ? refused : []) + ended)
        #expect(book.count == 0 && book.deadline == .max)
        #expect(book.left(4, isClean: false, reason: "refused", now: 2).isEmpty)
        #expect(publish(&book, 5).last == .begin(stream: Self.key, connection: 5), "who comes back begins anew")
    }

    @Test func withoutTheServicePublishersWaitAndAreRefused() {
        var book = IngestMachine(run: "r")
        book.configure(IngestSettings(host: "::1", port: 0, grace: 10, secret: "s"))
        _ = book.requested(Self.publish, by: 4, address: "::1", now: 0)
        #expect(book.deadline == 8 * Self.second)
        // The service connects in time and is asked.
        let told = book.attended(process: 9)
        #expect(told.first == .tell(.hello(version: 1, process: 9)) && told.contains(.tell(.synced)))
        guard case .tell(.ask)? = told.last else { return #expect(Bool(false), "the waiting one is not told") }
        book.abandoned()
        let words = "the service is not running at the moment: try again"
        #expect(book.tick(now: 8 * Self.second) == [.refuse(connection: 4, .denied(words))])
        // A late answer ends the publication that the service assumes.
        #expect(
            book.allowed(1, session: "r-1", stream: Self.key, now: 9 * Self.second)
                == [.tell(.ended(stream: Self.key, session: "r-1", reason: "left before it began"))])
    }

    @Test func theServiceIsToldEveryStream() {
        var book = book()
        _ = publish(&book, 4)
        _ = publish(&book, 5, as: "default/lobby/bob/camera")
        _ = book.left(5, isClean: false, reason: "", now: 0)
        book.abandoned()
        #expect(
            book.attended(process: 1) == [
                .tell(.hello(version: 1, process: 1)),
                .tell(.live(IngestStream(stream: Self.key, session: "r-1", isConnected: true))),
                .tell(.live(IngestStream(stream: "default/lobby/bob/camera", session: "r-2", isConnected: false))),
                .tell(.synced),
            ])
    }

    @Test func relaysNeedTheSecretAndMayWait() {
        var book = book()
        let other = "relay=" + RTMPRelayProof.text(stream: "default/lobby/bob/camera", secret: "s3cret")
        for query in ["", "relay=", "relay=s3cret", Self.proof + "&a=b", Self.proof.uppercased(), other, "token=t"] {
            guard case .refuse(4, _)? = book.requested(Self.relay(query), by: 4, address: "::1", now: 0).first else {
                Issue.record("\(query) is let in")
                continue
            }
        }
        let actions: [IngestMachine.Action] = [
            .recognise(connection: 4), .accept(connection: 4), .play(stream: Self.key, connection: 4),
        ]
        #expect(book.requested(Self.relay(), by: 4, address: "::1", now: 0) == actions)
        #expect(
            book.tick(now: 15 * Self.second)
                == [.refuse(connection: 4, .notFound("this stream is not being published"))])
        // The publisher has come, so the relay no longer waits.
        _ = book.requested(Self.relay(), by: 5, address: "::1", now: 20 * Self.second)
        _ = publish(&book, 6, now: 21 * Self.second)
        #expect(book.deadline == .max && book.tick(now: 60 * Self.second).isEmpty)
    }

    @Test func streamsAndRequestsHaveLimits() {
        var book = book(limits: .init(streams: 2, requests: 2))
        for number in 0..<2 { _ = publish(&book, number, as: "s\(number)") }
        guard case .refuse(9, let status)? = publish(&book, 9, as: "s9").first else { return #expect(Bool(false)) }
        #expect(status.words.contains("2 streams"))
        _ = book.requested(Self.publish, by: 10, address: "", now: 0)
        _ = book.requested(Self.publish, by: 11, address: "", now: 0)
        guard case .refuse(12, _)? = book.requested(Self.publish, by: 12, address: "", now: 0).first else {
            return #expect(Bool(false))
        }
        #expect(book.waitingRequests == 2)
        _ = book.left(10, isClean: false, reason: "", now: 0)
        #expect(book.waitingRequests == 1, "who leaves waits no longer")
    }

    // MARK: - Connections

    @Test func strangersCannotTakeThePlacesOfOthers() throws {
        var book = ConnectionPlaces(limits: .init(all: 10, remote: 6, perAddress: 2, undecided: 4))
        let others = try (1...9).map { try #require(InternetAddress([10, 0, 0, $0])) }
        let own = try #require(InternetAddress([127, 0, 0, 1]))
        func enter(_ address: InternetAddress) -> ConnectionPlaces.Entrance { book.enter(address) }
        #expect(
            [enter(others[0]), enter(others[0]), enter(others[0])] == [.taken, .taken, .full], "two of one address")
        #expect(
            [enter(others[1]), enter(others[1]), enter(others[2])] == [.taken, .taken, .crowded], "four undecided")
        #expect(enter(own) == .taken, "relays are not concerned")
        // The oldest gives way.
        book.leave(others[0], wasDecided: false)
        #expect(enter(others[2]) == .taken)
        for address in [others[0], others[1], others[1], others[2]] { book.decide(address) }
        book.decide(own)
        #expect([enter(others[3]), enter(others[4]), enter(others[5])] == [.taken, .taken, .full], "six of others")
        #expect([enter(own), enter(own), enter(own), enter(own)] == [.taken, .taken, .taken, .full], "ten in all")
        for address in [others[0], others[1], others[1], others[2]] { book.leave(address, wasDecided: true) }
        for address in [others[3], others[4]] { book.leave(address, wasDecided: false) }
        for number in 0..<4 { book.leave(own, wasDecided: number == 0) }
        #expect(book.count == 0 && book.addresses == 0)
        #expect((0..<4).map { enter(others[$0]) } == [.taken, .taken, .taken, .taken], "everything is given back")
    }

    /// The relays of another node share its address, and do not count against its publishers' places.
    @Test func relaysOfOtherNodesAreNotCounted() throws {
        var book = ConnectionPlaces(limits: .init(all: 10, remote: 3, perAddress: 2, undecided: 2))
        let node = try #require(InternetAddress([10, 0, 0, 1]))
        for number in 0..<8 {
            #expect(book.enter(node) == .taken, "relay \(number)")
            book.recognise(node)
        }
        #expect(book.addresses == 0)
        #expect([book.enter(node), book.enter(node), book.enter(node)] == [.taken, .taken, .full], "ten in all")
        for _ in 0..<8 { book.leave(node, wasDecided: true, isRelay: true) }
        for _ in 0..<2 { book.leave(node, wasDecided: false) }
        #expect(book.count == 0 && book.addresses == 0)
        let outcomes = [book.enter(node), book.enter(node), book.enter(node)]
        #expect(outcomes == [.taken, .taken, .full], "two of one address")
    }
}
