import HTTPTypes
import TestSupport
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator

/// Offers of real clients, and of clients that tests do not run.
extension WHIPRouteTests {
    /// Some of the captured offers have no H.264; it is removed from the others.
    @Test(arguments: Offers.all.map { $0.name }) func aClientWithoutH264IsToldSo(name: String) async throws {
        let text = try #require(Offers.all.first { $0.name == name }?.text)
        let offer = (Offers.hasH264(text) ? text.replacing("H264/", with: "VP9/") : text).replacing("\n", with: "\r\n")
        try await withWHIP { bench in
            let answer = try await bench.call(.post, "/whip/show/alice", offer, headers: Self.sdp)
            #expect(answer.status == 406, "\(answer.text)")
            #expect(try answer.value("type") == "urn:mixorchestrator:problem:offer-unsuitable")
            #expect(try answer.value("detail")?.contains("H.264") == true, "\(answer.text)")
            #expect(ScriptedWHIPWorker.told(in: bench.directory).isEmpty)
        }
    }
}
