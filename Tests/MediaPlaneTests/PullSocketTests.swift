import EncodedMedia
import Foundation
import MixModel
import Testing
import MediaFormats

@testable import ProgramRelay
@testable import RTMP

/// The behaviour of the pull with its own socket that extends, or differs from, that of `rtmp2src`.
@Suite(.serialized, .timeLimit(.minutes(5))) struct PullSocketTests {
    /// Every configuration and frame is the same, with equal times and bytes.
    @Test func bothPullsDeliverTheSameItems() async throws {
        let server = try await OutputMediaServer.start()
        let pulls = RTMPPullKind.allCases.map { PullRecorder(url: server.url("same?key=ab"), $0) }
        #expect(try await outputEventually { pulls.allSatisfy(\.hasBegun) })
        let output = DestinationOutput(PushDestination(id: "o", url: server.url("same")), preamble: [])
        let tags = try await outputProgram(seconds: 3)
        try await output.play(tags)
        let count = tags.count { if case .frame = $0.role { true } else { false } }
        #expect(
            try await outputEventually { pulls.allSatisfy { $0.frames.count >= count } },
            "\(pulls.map(\.frames.count)) of \(count) frames, \(pulls.map(\.endings)); \(output.status)")
        await output.close()
        for pull in pulls { await pull.close() }
        #expect(pulls[0].items == pulls[1].items)
        #expect(Set(pulls[0].items.map(\.track)) == [.audio, .video])
        #expect(pulls[0].items.contains { !$0.isFrame })
        await server.remove()
    }

    /// nginx writes its handshake in pieces and waits for an acknowledgement after each.
    @Test func aConnectionIsMadeSoonerThanThroughTheElement() async throws {
        let server = try await OutputMediaServer.start()
        var times: [RTMPPullKind: [Double]] = [:]
        for round in 0..<6 {
            for kind in round % 2 == 0 ? RTMPPullKind.allCases : RTMPPullKind.allCases.reversed() {
                let start = MonotonicClock.now()
                let pull = PullRecorder(url: server.url("nobody"), kind)
                #expect(try await outputEventually { pull.hasBegun })
                times[kind, default: []].append(Double(try #require(pull.begunAt) - start) / 1e6)
                await pull.close()
            }
        }
        func median(_ kind: RTMPPullKind) throws -> Double { try #require(times[kind]).sorted()[3] }
        let (socket, element) = (try median(.socket), try median(.element))
        print("connected to nginx in \(socket) ms with a socket, in \(element) ms with rtmp2src (medians of 6)")
        #expect(socket < element)
        await server.remove()
    }

    @Test func aPublisherWhoLeavesEndsThePullInWords() async throws {
        let server = try await OutputMediaServer.start()
        let output = DestinationOutput(PushDestination(id: "o", url: server.url("leaves")), preamble: [])
        let pull = PullRecorder(url: server.url("leaves"))
        try await output.play(try await outputProgram(seconds: 2))
        #expect(try await outputEventually { pull.frames.count > 20 })
        await output.close()
        #expect(try await outputEventually { pull.endings == ["the publisher has left"] })
        #expect(pull.ends.map(\.kind) == [.publisherLeft])
        await pull.close()
        await server.remove()
    }

    @Test func aServerIsFoundByName() async throws {
        let server = try await OutputMediaServer.start()
        let pull = PullRecorder(url: "rtmp://localhost:\(server.rtmpPort)/live/x")
        #expect(try await outputEventually { pull.hasBegun })
        await pull.close()
        await server.remove()
    }

    @Test func whatGoesWrongIsNamed() async throws {
        let media = try await OutputMediaServer.start()
        let silent = try RTMPOddServer()
        let web = try RTMPOddServer(saying: [UInt8]("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
        let brief = try RTMPOddServer(saying: [3], closes: true)
        defer { for server in [silent, web, brief] { server.stop() } }
        let cases: [(url: String, kind: PullEnd.Kind, words: String)] = [
            (
                "rtmp://127.0.0.1:\(silent.port)/live/secret", .timedOut,
                "timed out: no answer to the handshake within 1 s"
            ),
            (
                "rtmp://127.0.0.1:\(web.port)/live/secret", .protocolViolation,
                "no media arrived: the server does not speak RTMP"
            ),
            ("rtmp://127.0.0.1:\(brief.port)/live/secret", .lost, "closed the connection during the handshake"),
            (media.url("secret", application: "wrong"), .refused, "is there an application wrong?"),
            ("rtmp://127.0.0.1:1/live/secret", .unreachable, "cannot connect to 127.0.0.1:1: Connection refused"),
            ("rtmp://nobody.invalid/live/secret", .unreachable, "cannot resolve nobody.invalid: "),
            ("rtmp://127.0.0.1/secret", .badURL, "the URL has no stream name"),
        ]
        for (url, kind, words) in cases {
            // An event that does not occur in time is named with the limit.
            let pull = PullRecorder(url: url, connectTimeout: kind == .timedOut ? 1 : 10)
            #expect(try await outputEventually { !pull.endings.isEmpty }, "\(url)")
            #expect(pull.endings.count == 1 && pull.endings.first?.contains(words) == true, "\(pull.endings)")
            #expect(pull.ends.map(\.kind) == [kind], "\(url)")
            #expect(pull.endings.first?.contains("secret") == false || url.hasSuffix("1/secret"), "\(pull.endings)")
            await pull.close()
        }
        await media.remove()
    }

    @Test func whoeverForgetsAPullDoesNotKeepItsConnection() async throws {
        let server = try RTMPOddServer()
        defer { server.stop() }
        let url = "rtmp://127.0.0.1:\(server.port)/live/x"
        do {
            let pull = PullRecorder(url: url)
            #expect(try await outputEventually { server.accepted == 1 })
            #expect(server.hungUp == 0)
            withExtendedLifetime(pull) {}
        }
        #expect(try await outputEventually { server.hungUp == 1 })
    }
}
