import ChildProcesses
import Foundation
import MixModel
import TestSupport
import Testing

@testable import RTMP

/// RTMPS of the real process, with ffmpeg and openssl as clients.
@Suite(.serialized, .timeLimit(.minutes(5))) struct IngestTLSTests {
    /// Returns whether a client that trusts only this certificate completes a handshake.
    private static func isTrusted(_ rig: IngestRig, _ certificate: TestCertificate) async throws -> Bool {
        try await outputTool(
            "/usr/bin/env",
            [
                "sh", "-c", "exec openssl s_client \"$@\" </dev/null >/dev/null 2>&1", "sh", "-connect",
                "127.0.0.1:\(rig.securePort ?? 0)", "-CAfile", certificate.file, "-verify_return_error", "-verify_ip",
                "127.0.0.1",
            ]) == 0
    }

    @Test func ffmpegPublishesAndPlays() async throws {
        let certificate = try await TestCertificate.make(for: "IP:127.0.0.1")
        defer { certificate.remove() }
        let rig = try await IngestRig.start(certificate: certificate)
        defer { rig.stop() }
        let publisher = try rig.publish("alice", to: rig.secureURL("alice"))
        let relay = try IngestPlayer(rig.pullURL("alice"))
        #expect(try await outputEventually { relay.frames > 60 }, "\(rig.account)")
        let status = try await outputTool(
            "/usr/bin/env",
            ["ffmpeg", "-v", "error", "-xerror", "-i", rig.secureURL("alice"), "-t", "2", "-f", "null", "-"])
        #expect(status == 0)
        // A clean end counts over TLS too.
        publisher.signal(SIGTERM)
        #expect(try await outputEventually { rig.ended("alice") == 1 }, "\(rig.account)")
        relay.stop()
    }

    @Test func aChangedCertificateIsUsed() async throws {
        let first = try await TestCertificate.make(for: "IP:127.0.0.1")
        let second = try await TestCertificate.make(for: "IP:127.0.0.1")
        defer {
            first.remove()
            second.remove()
        }
        let kept = first.directory.appending(path: "kept.pem").path
        try FileManager.default.copyItem(atPath: first.file, toPath: kept)
        let rig = try await IngestRig.start(certificate: first)
        defer { rig.stop() }
        #expect(try await Self.isTrusted(rig, first))
        #expect(try await Self.isTrusted(rig, second) == false)
        // A certificate without its key does not stop it: the previous one stays.
        try Data(contentsOf: URL(fileURLWithPath: second.file)).write(to: URL(fileURLWithPath: first.file))
        #expect(
            try await outputEventually {
                _ = try await Self.isTrusted(rig, second)
                return rig.log.contains("the former certificate stays in use")
            })
        #expect(try await Self.isTrusted(rig, second) == false)
        try Data(contentsOf: URL(fileURLWithPath: second.key)).write(to: URL(fileURLWithPath: first.key))
        #expect(try await outputEventually { try await Self.isTrusted(rig, second) }, "\(rig.account)")
        #expect(!rig.log.contains("PRIVATE"))
    }

    @Test func whoDoesNotShakeHandsIsClosed() async throws {
        let certificate = try await TestCertificate.make(for: "IP:127.0.0.1")
        defer { certificate.remove() }
        let rig = try await IngestRig.start(certificate: certificate)
        defer { rig.stop() }
        let start = ContinuousClock.now
        let silent = RawClient(port: rig.securePort ?? 0)
        // RTMP without TLS is an error at once.
        let plain = RawClient(port: rig.securePort ?? 0)
        plain.send([3] + [UInt8](repeating: 0, count: 3072))
        #expect(await plain.isClosed(within: 30))
        #expect(await silent.isClosed(within: 30))
        let took = ContinuousClock.now - start
        // The limit is 5 s for the handshake; the 15 s for a request are not part of TLS.
        #expect(took > .seconds(4) && took < .seconds(13), "\(took)")
        #expect(try await outputEventually { rig.figures?.connections == 0 }, "\(rig.account)")
    }

    @Test func aCertificateThatCannotBeReadIsSaid() async throws {
        let certificate = try await TestCertificate.make(for: "IP:127.0.0.1")
        defer { certificate.remove() }
        let rig = try await IngestRig.start()
        defer { rig.stop() }
        let missing = certificate.directory.appending(path: "missing.pem").path
        rig.send(
            .configure(
                IngestSettings(
                    host: "127.0.0.1", port: 0, grace: 1, secret: IngestRig.secret,
                    rtmps: IngestTLS(host: "127.0.0.1", port: 0, certificate: missing, key: certificate.key))))
        let words = "the certificate cannot be used: \(missing): No such file or directory"
        #expect(
            try await outputEventually { rig.reports.contains(.notListeningSecurely(reason: words)) }, "\(rig.account)")
        // The server tries again, and everything else continues.
        try FileManager.default.copyItem(atPath: certificate.file, toPath: missing)
        #expect(try await outputEventually { rig.securePort != nil }, "\(rig.account)")
        #expect(try await Self.isTrusted(rig, certificate))
    }
}
