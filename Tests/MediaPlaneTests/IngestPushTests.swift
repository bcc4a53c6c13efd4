import ChildProcesses
import Foundation
import MixModel
import Testing

@testable import RTMP

/// A real nginx-rtmp that pushes its publications on to the ingest and waits for no answer.
@Suite(.serialized, .timeLimit(.minutes(3))) struct IngestPushTests {
    /// Starts nginx with a push of its application `plain`.
    private static func start(pushingTo url: String) async throws -> OutputMediaServer {
        let server = try await OutputMediaServer.start()
        await server.stop()
        let file = server.directory.appending(path: "nginx.conf")
        let text = try String(contentsOf: file, encoding: .utf8)
        let application = "application plain {"
        #expect(text.contains(application))
        try text.replacing(application, with: "\(application) push \(url);").write(
            to: file, atomically: true, encoding: .utf8)
        let status = try await outputTool(
            "/bin/sh",
            [
                "-c",
                "PATH=$PATH:/usr/sbin; exec nginx -p \"$0\" -e \"$0/error.log\" -c \"$0/nginx.conf\" 2>>\"$0/start.log\"",
                server.directory.path,
            ])
        #expect(status == 0)
        return server
    }

    @Test func whatNginxPushesIsPlayed() async throws {
        let rig = try await IngestRig.start()
        defer { rig.stop() }
        let server = try await Self.start(pushingTo: rig.publishURL("alice"))
        do {
            rig.holdAnswers()
            let publisher = try rig.publish("alice", to: server.url("alice", application: "plain"))
            defer {
                publisher.signal(SIGKILL)
                publisher.waitForExit()
            }
            func question() -> IngestRequest? {
                rig.reports.lazy.compactMap { if case .ask(let request) = $0 { request } else { nil } }.first
            }
            #expect(try await outputEventually { question() != nil }, "\(rig.account)")
            let request = try #require(question())
            // The ingest waits for a publisher for 15 s only.
            let player = try IngestPlayer(rig.pullURL("alice"))
            defer { player.stop() }
            // The headers arrive meanwhile, and no message announces them.
            try await Task.sleep(for: .milliseconds(500))
            rig.send(
                .allow(request: request.request, session: request.session, stream: IngestRig.stream("alice")))
            #expect(try await outputEventually { player.frames > 90 }, "\(rig.account)")
            let tags = player.progress.tags
            #expect(tags.first { $0.kind == .video }?.head.prefix(2) == [0x17, 0])
            #expect(tags.first { $0.kind == .audio }?.head.prefix(2) == [0xAF, 0])
            #expect(tags.contains { $0.kind == .video && $0.head.prefix(2) == [0x17, 1] })
        } catch {
            Issue.record(error)
        }
        await server.remove()
    }
}
