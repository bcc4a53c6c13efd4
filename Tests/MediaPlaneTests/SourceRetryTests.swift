import MixModel
import Testing

@testable import EncodedMedia
@testable import ProgramRelay

/// The time of a source's next connection.
@Suite struct SourceRetryTests {
    private func pause(
        _ kind: PullEnd.Kind, _ failures: Int, repeats: Int? = nil, wasLive: Bool = true, idle: MediaTime = .zero,
        of id: SourceID = "a/camera"
    ) -> MediaTime {
        SourceRetry.pause(
            after: kind, failures: failures, repeats: repeats ?? failures, wasLive: wasLive, idle: idle, of: id)
    }

    /// The same rule applies however long the server was away.
    @Test func aServerThatIsAwayIsAskedSeveralTimesASecond() {
        for kind in [PullEnd.Kind.unreachable, .timedOut, .lost, .ended] {
            #expect(pause(kind, 1) == .milliseconds(250))
            for failures in [2, 3, 10, 1_000_000, .max] {
                for wasLive in [true, false] {
                    let pause = pause(kind, failures, wasLive: wasLive)
                    let range: ClosedRange<MediaTime> =
                        kind == .unreachable
                        ? .milliseconds(250) ... .milliseconds(350) : .milliseconds(400) ... .milliseconds(600)
                    #expect(range ~= pause, "\(kind) \(failures)")
                }
            }
        }
    }

    @Test func aStreamThatIsMissingIsBackWithinASecondToo() {
        for kind in [PullEnd.Kind.refused, .noMedia, .publisherLeft] {
            #expect(pause(kind, 1000) <= .milliseconds(600))
            #expect(pause(kind, 1000, wasLive: false) == .seconds(1))
        }
    }

    /// A server that listens again without a stream yet refuses for a moment.
    @Test func aFailureOfAnotherKindIsFollowedByQuickAttempts() {
        for wasLive in [true, false] {
            #expect(pause(.refused, 1000, repeats: 1, wasLive: wasLive) == .milliseconds(250))
            #expect(pause(.refused, 1001, repeats: 2, wasLive: wasLive) <= .milliseconds(600))
        }
        #expect(pause(.crashed, 9, repeats: 1) == .seconds(5), "a demuxer that crashes now and then is no server")
    }

    /// Silence that an attempt has already waited for adds no further wait.
    @Test func anAttemptInSilenceIsItsOwnPause() {
        for kind in [PullEnd.Kind.timedOut, .unreachable, .noMedia] {
            #expect(pause(kind, 9, idle: .seconds(3)) == .milliseconds(50))
            #expect(pause(kind, 9, idle: .milliseconds(100)) == pause(kind, 9) - .milliseconds(100))
        }
        #expect(pause(.excessive, 1, idle: .seconds(60)) == .seconds(10))
    }

    @Test func whatNoWaitingCuresIsAskedForMoreSeldom() {
        for kind in [PullEnd.Kind.crashed, .notAllowed, .tlsFailed, .protocolViolation, .badURL, .notInstalled] {
            let pauses = (1...9).map { pause(kind, $0).nanoseconds / 1_000_000 }
            #expect(pauses == [250, 500, 1000, 2000, 4000, 5000, 5000, 5000, 5000], "\(kind)")
        }
        #expect(pause(.excessive, 1) == .seconds(10) && pause(.unsupportedCodec, 9) == .seconds(10))
    }

    /// A hundred rooms with one failed server do not retry all at once.
    @Test func sourcesOfOneServerAreSpread() {
        let pauses = (0..<100).map { pause(.unreachable, 5, of: SourceID("room\($0)/camera")) }
        #expect(Set(pauses.map(\.nanoseconds)).count > 40)
        let attempts = (2..<50).map { pause(.unreachable, $0) }
        #expect(Set(attempts.map(\.nanoseconds)).count > 25)
    }
}
