import EncodedMedia
import Foundation
import GStreamerKit
import MediaFormats
import MixModel
import Synchronization
import TestSupport
import Testing

@testable import RTMP
@testable import WebRTCGateway

/// A WebRTC client, a real worker and a real ingest.
@Suite(.serialized, .timeLimit(.minutes(6))) struct WhipTests {
    /// Client, worker, ingest and player, connected.
    struct Stage {
        let ingest: IngestRig
        let worker: WhipRig
        let client: WhipClient
        let player: WholePlayer
        /// Time in ns from the offer to the first keyframe at the player.
        let delay: Int64

        func stop() async {
            player.stop()
            await client.stop()
            worker.stop()
            ingest.stop()
        }
    }

    private static func network(_ address: String = "127.0.0.1") -> WebRTCNetwork {
        WebRTCNetwork(addresses: [address])
    }

    /// The addresses of this machine for itself: some machines have none of IPv6.
    private static var ownAddresses: [String] {
        let interfaces = (try? String(contentsOfFile: "/proc/net/if_inet6", encoding: .utf8)) ?? ""
        return ["127.0.0.1"] + (interfaces.contains("00000000000000000000000000000001 ") ? ["::1"] : [])
    }

    static func stage(
        hasAudio: Bool = true, silence: Double = 10, address: String = "127.0.0.1"
    ) async throws -> Stage {
        let ingest = try await IngestRig.start()
        let worker = try await WhipRig.start()
        let client = try await WhipClient(hasAudio: hasAudio, address: address)
        let player = try WholePlayer(ingest.pullURL("alice"))
        let start = MonotonicClock.now()
        worker.send(
            .publish(
                WebRTCPublisher(
                    offer: client.offer, target: ingest.publishURL("alice"), network: network(address),
                    silence: silence)))
        #expect(try await outputEventually { worker.answer != nil || worker.refusal != nil })
        let answer = try #require(worker.answer, "\(worker.reports) \(client.failure ?? "") \(client.offer)")
        client.peer.accept(answer)
        #expect(try await outputEventually { worker.isConnected && client.isConnected }, "\(worker.log)")
        client.begin()
        #expect(
            try await outputEventually { player.tags.contains(where: \.isIDR) }, "\(worker.reports)\n\(worker.log)")
        let first = player.tags.first(where: \.isIDR)?.arrival ?? .max
        return Stage(ingest: ingest, worker: worker, client: client, player: player, delay: first - start)
    }

    @Test(arguments: ownAddresses)
    func picturesComeByteForByteAndSoundWithoutAGap(address: String) async throws {
        let stage = try await Self.stage(address: address)
        #expect(
            try await outputEventually { stage.player.pictures.count > 90 },
            "\(stage.player.pictures.count) pictures, \(String(describing: stage.player.end))\n\(stage.worker.log)")
        let (received, sent) = (stage.player.pictures, stage.client.sent)
        print("\(address): first keyframe after \(stage.delay / 1_000_000) ms, \(stage.worker.figures as Any)")
        let places = received.map { picture in sent.firstIndex(of: picture.unit) ?? -1 }
        let first = try #require(places.first)
        #expect(first >= 0 && places == Array(first..<first + places.count), "\(places) of \(sent.count)")
        let sound = stage.player.tags.filter(\.isSound).map(\.timestamp)
        #expect(sound.count > 100)
        let gaps = zip(sound, sound.dropFirst()).map { Int($1) - Int($0) }
        #expect(gaps.allSatisfy { 20...23 ~= $0 }, "\(gaps)")
        let times = received.map(\.timestamp)
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
        await stage.stop()
    }

    @Test func aPlayerThatNeedsAKeyframeGetsOne() async throws {
        let stage = try await Self.stage(hasAudio: false)
        #expect(try await outputEventually { stage.player.pictures.count > 30 })
        let before = stage.player.pictures.count(where: \.isIDR)
        try await Task.sleep(for: .seconds(1))
        #expect(stage.player.pictures.count(where: \.isIDR) == before, "none comes by itself")
        var times: [Int64] = []
        for round in 1...5 {
            let asked = MonotonicClock.now()
            stage.player.requestKeyframe()
            #expect(try await outputEventually { stage.player.pictures.count(where: \.isIDR) >= before + round })
            let came = stage.player.pictures.last(where: \.isIDR)?.arrival ?? .max
            times.append(came - asked)
            try await Task.sleep(for: .milliseconds(400))
        }
        times.sort()
        print("keyframes came \(times.map { $0 / 1_000_000 }) ms after they were asked for")
        #expect(times[2] < 1_000_000_000)
        #expect(stage.worker.figures?.keyframeRequests ?? 0 < 12)
        await stage.stop()
    }

    @Test func anotherSizeComesWithItsSequenceHeader() async throws {
        let stage = try await Self.stage(hasAudio: false)
        try stage.client.resize(640, 360)
        #expect(try await outputEventually { stage.player.tags.count(where: \.isVideoHeader) == 2 })
        #expect(try await outputEventually { stage.player.tags.last?.isPicture ?? false })
        let tags = stage.player.tags
        let found = tags.lastIndex { $0.isVideoHeader }
        let place = try #require(found)
        let configuration = CodecConfiguration(track: .video, bytes: tags[place].payload)
        let parameters = VideoConfiguration(configuration)?.sequenceParameters
        #expect(parameters?.width == 640 && parameters?.height == 360)
        #expect(tags[place...].first { $0.isPicture }?.isIDR ?? false, "before any other picture of it")
        let sent = stage.client.sent
        let places = stage.player.pictures.map { picture in sent.firstIndex(of: picture.unit) ?? -1 }
        let first = try #require(places.first)
        #expect(first >= 0 && places == Array(first..<first + places.count), "none is lost")
        await stage.stop()
    }

    @Test func aClientThatVanishesEndsAfterItsSilence() async throws {
        let stage = try await Self.stage(silence: 3)
        let start = ContinuousClock.now
        await stage.client.stop()
        #expect(try await outputEventually { stage.worker.end != nil }, "\(stage.worker.log)")
        print("ended after \(ContinuousClock.now - start): \(stage.worker.end ?? "")")
        // A clean end: the ingest does not wait for another connection.
        #expect(try await outputEventually { stage.ingest.ended("alice") == 1 })
        #expect(stage.ingest.interrupted("alice") == 0)
        #expect(stage.worker.process.waitForExit() == .status(0))
        #expect(try await outputEventually { stage.player.end?.kind == .unpublished })
        await stage.stop()
    }

    @Test func theServiceEndsIt() async throws {
        let stage = try await Self.stage()
        stage.worker.send(.terminate)
        #expect(try await outputEventually { stage.worker.end == "the service ended it" })
        #expect(stage.worker.process.waitForExit() == .status(0))
        #expect(try await outputEventually { stage.ingest.ended("alice") == 1 })
        await stage.stop()
    }

    /// The ingest crashes and another one takes its port: the worker publishes there, beginning with a keyframe.
    @Test func theStreamComesBackAfterACrashOfTheIngest() async throws {
        let first = try await Self.stage(hasAudio: false)
        let port = try #require(first.ingest.port)
        first.player.stop()
        first.ingest.stop()
        #expect(
            try await outputEventually { first.worker.log.contains("the ingest does not take the stream") },
            "\(first.worker.log)")
        let second = try await IngestRig.start(port: port)
        let player = try WholePlayer(second.pullURL("alice"))
        #expect(try await outputEventually { player.pictures.count > 10 }, "\(first.worker.log)")
        #expect(player.pictures.first?.isIDR ?? false)
        #expect(first.worker.end == nil && first.client.isConnected)
        player.stop()
        await first.client.stop()
        first.worker.stop()
        second.stop()
    }

    /// Publishers that come and go leave no resources in the process that receives them.
    @Test func twentyPublishersLeaveNoThreadAndNoDescriptor() async throws {
        // In a separate process, where nothing else has threads and sockets.
        let result = try #require(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                let counts = try await WhipTests.comeAndGo()
                let json = String(decoding: try JSONEncoder().encode(counts), as: UTF8.self)
                // On a line of its own, between what libraries write.
                FileHandle.standardError.write(Data("\n\(json)\n".utf8))
            })
        let text = String(decoding: result.standardErrorContent, as: UTF8.self)
        let json = text.split(separator: "\n").last { $0.hasPrefix("[[") }.map { Data($0.utf8) }
        let counts = try JSONDecoder().decode([[Int]].self, from: try #require(json, "\(text)"))
        print("threads \(counts[0]), descriptors \(counts[1])")
        // GLib's pool keeps some threads for a while.
        #expect(counts[0][19] <= counts[0][4] + 4 && counts[1][19] <= counts[1][4] + 2, "\(counts)")
    }

    /// Returns the numbers of threads and of descriptors after each of twenty publishers.
    private static func comeAndGo() async throws -> [[Int]] {
        var threads: [Int] = []
        var descriptors: [Int] = []
        for round in 0..<20 {
            let client = try await WhipClient()
            let received = Mutex(0)
            let connected = Mutex(false)
            var network = WebRTCPeer.Network()
            network.addresses = ["127.0.0.1"]
            let offer = try WebRTCOffer(client.offer)
            let candidates = Mutex<[LocalCandidates.Candidate]>([])
            let made = Mutex<(text: String?, isDone: Bool)>((nil, false))
            let peer = try WebRTCPeer(WebRTCReception.description, network: network, name: "server\(round)") { event in
                switch event {
                case .described(let text): made.withLock { $0.text = text }
                case .candidate(let section, let text):
                    candidates.withLock { $0.append(.init(section: section, text: text)) }
                case .gathered: made.withLock { $0.isDone = true }
                case .connection(let state): connected.withLock { $0 = state == .connected }
                case .untrusted: Issue.record("the client has another certificate")
                case .keyframeRequested: break
                case .failed(let reason): Issue.record("\(reason)")
                }
            }
            for sink in [WebRTCReception.pictures, WebRTCReception.sound] {
                try peer.pipeline.appSink(sink) { _ in received.withLock { $0 += 1 } }
            }
            try await peer.play()
            let publication = try offer.publication()
            try WebRTCReception.addReceivers(to: peer, for: publication, of: offer)
            peer.answer(client.offer)
            try #require(try await outputEventually { made.withLock { $0.text != nil && $0.isDone } })
            let answer = WebRTCAnswer(
                to: offer, video: publication.video, audio: publication.audio, network: Self.network())
            client.peer.accept(
                try #require(answer.text(of: made.withLock { $0.text ?? "" }, candidates.withLock { $0 })))
            try #require(try await outputEventually { connected.withLock { $0 } && client.isConnected })
            client.begin()
            try #require(try await outputEventually { received.withLock { $0 } > 10 })
            await client.stop()
            await peer.tearDown()
            threads.append(try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count)
            descriptors.append(try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count)
        }
        func count(_ name: String) throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/\(name)").count
        }
        // Some end a moment later.
        _ = try await outputEventually {
            (threads[19], descriptors[19]) = (try count("task"), try count("fd"))
            return threads[19] <= threads[4] + 4 && descriptors[19] <= descriptors[4] + 2
        }
        return [threads, descriptors]
    }

    /// An attacker on the path can answer in the client's place, but not with the certificate that its offer names.
    @Test func aClientWithAnotherCertificateIsNotPublished() async throws {
        let ingest = try await IngestRig.start()
        defer { ingest.stop() }
        let worker = try await WhipRig.start()
        defer { worker.stop() }
        let client = try await WhipClient()
        let offer = WhipClient.withOtherFingerprint(client.offer)
        #expect(offer != client.offer)
        worker.send(
            .publish(WebRTCPublisher(offer: offer, target: ingest.publishURL("alice"), network: Self.network())))
        #expect(try await outputEventually { worker.answer != nil || worker.refusal != nil })
        client.peer.accept(try #require(worker.answer, "\(worker.reports) \(client.failure ?? "")"))
        client.begin()
        #expect(try await outputEventually { worker.end != nil }, "\(worker.log)")
        #expect(worker.end?.contains("a=fingerprint") ?? false, "\(worker.end ?? "")")
        #expect(worker.process.waitForExit() == .status(0))
        #expect(!worker.isConnected)
        // Nothing was published, not even for a moment.
        #expect(
            !ingest.reports.contains { report in
                switch report {
                case .ask, .live: true
                default: false
                }
            }, "\(ingest.account)")
        await client.stop()
    }

    @Test func whatCannotBeTakenIsRefusedInWords() async throws {
        let worker = try await WhipRig.start()
        defer { worker.stop() }
        worker.send(
            .publish(WebRTCPublisher(offer: "v=0\r\n", target: "rtmp://127.0.0.1:1/a/b", network: Self.network())))
        #expect(try await outputEventually { worker.refusal?.contains("is not an offer of WebRTC") ?? false })
        #expect(worker.process.waitForExit() == .status(0))
    }
}
