import TestSupport
import Testing

/// The delay with two publishers and nothing else until a viewer has both in the picture, and one again.
///
/// Runs only in `make test-long`, because it measures time.
@Suite(.serialized, .enabled(if: TestLength.isLong)) struct FirstMixTests {
    @Test(.timeLimit(.minutes(8))) func theSecondPublisherIsInThePictureWithinASecond() async throws {
        let port = HookingMediaServer.anyPort()
        try await Stage.run(environment: ["MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(port)"]) { stage in
            let mix = FirstMix(client: stage.client, room: stage.room, port: port, directory: stage.directory)
            try await mix.measure(rounds: 5).expectWithinLimits()
        }
    }
}
