import Foundation
import GStreamerKit
import Testing
import EncodedMedia

@testable import ProgramRelay
@testable import RTMP

/// Pulls and outputs leave no GStreamer objects behind, according to GStreamer's leak tracer in a separate process.
@Suite struct PullLeakTests {
    @Test(.timeLimit(.minutes(5))) func pullsAndOutputsLeaveNothingBehind() async throws {
        let result = try #require(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                setenv("GST_TRACERS", "leaks", 1)
                setenv("GST_DEBUG", "GST_TRACER:7", 1)
                setenv("GST_DEBUG_NO_COLOR", "1", 1)
                try await PullLeakTests.joinAndLeave()
                GStreamerRuntime.shutDownForLeakCheck()
                FileHandle.standardError.write(Data("leak check done\n".utf8))
            })
        let text = String(decoding: result.standardErrorContent, as: UTF8.self)
        try #require(text.contains("leak check done"), "\(text)")
        let alive = text.split(separator: "\n").filter {
            $0.contains("object-alive, type-name=(string)") && !$0.contains("%s")
        }
        #expect(alive.isEmpty, "\(alive)")
    }

    private static func joinAndLeave() async throws {
        let server = try await OutputMediaServer.start()
        let tags = try await outputProgram(seconds: 1)
        for round in 0..<10 {
            let kind = RTMPPullKind.allCases[round % 2]
            let output = DestinationOutput(server.url("r\(round)"), kind)
            let pull = PullRecorder(url: server.url("r\(round)"), kind)
            let refused = PullRecorder(url: "rtmp://127.0.0.1:1/live/x", kind)
            output.send(tags)
            #expect(try await outputEventually { output.status.state == .live && pull.hasBegun })
            #expect(try await outputEventually { !refused.endings.isEmpty })
            await output.close()
            await pull.close()
            await refused.close()
        }
        await server.remove()
    }
}
