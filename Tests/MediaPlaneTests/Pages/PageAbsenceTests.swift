import ChildProcesses
import EncodedMedia
import Foundation
import MediaFormats
import MixModel
import TestSupport
import Testing

/// Pages in a real Chromium that are not ready yet, or away. Nothing here depends on how quickly a page is painted, so
/// these tests run beside others, but not beside `PageIsolationTests`, which look at all displays of the machine.
@Suite(.serialized, .timeLimit(.minutes(8)), .enabled(if: PagePrograms.missing.isEmpty)) struct PageAbsenceTests {
    /// The ingest ends a publisher from which nothing comes for 15 s, and the service closes pages without a stream.
    @Test func aPageThatIsAwayForLongKeepsItsStream() async throws {
        let scene = try await PageScene.start()
        defer { scene.stop() }
        try await scene.waitForAir()
        let player = try WholePlayer(scene.ingest.pullURL("alice"))
        defer { player.stop() }
        #expect(try await outputEventually { player.pictures.count > 30 })
        scene.server.set("/", nil)
        let renderer = try #require(scene.browsers("renderer").first)
        kill(renderer, SIGKILL)
        let isAway = try await outputEventually(within: .seconds(60)) {
            let notices = player.tags.filter { FLVMetadata.isPaused($0.body) }.map(\.arrival)
            return (notices.last ?? 0) - (notices.first ?? 0) > 14_900_000_000
        }
        #expect(isAway && !scene.worker.isOnAir, "\(scene.worker.log)")
        scene.server.set("/", TestPage.html(source: 3))
        let count = player.pictures.count
        #expect(try await outputEventually(within: .seconds(90)) { player.pictures.count > count + 30 })
        #expect(player.end == nil && scene.ingest.interrupted("alice") == 0 && scene.ingest.ended("alice") == 0)
    }

    @Test func anExpressionSaysWhenItIsReady() async throws {
        let begin = ContinuousClock.now
        let scene = try await PageScene.start("?ready=6000", ready: .expression("window.isReady === true"))
        defer { scene.stop() }
        try await scene.waitForAir()
        #expect(ContinuousClock.now - begin > .seconds(6))
    }

    @Test func aPageThatIsNotThereIsNotOnAir() async throws {
        let scene = try await PageScene.start("missing")
        defer { scene.stop() }
        #expect(try await outputEventually(within: .seconds(60)) { scene.worker.states.contains(.failing) })
        scene.server.set("/missing", TestPage.html(source: 3))
        try await scene.waitForAir()
    }
}
