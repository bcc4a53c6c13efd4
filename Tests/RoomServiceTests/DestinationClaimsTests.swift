import MixModel
import Testing

@testable import RoomService

@Suite struct DestinationClaimsTests {
    private func output(_ id: OutputID, _ path: String) -> PushDestination {
        PushDestination(id: id, url: "rtmp://cdn.example/\(path)")
    }

    @Test func aDestinationHasOneTask() {
        let claims = DestinationClaims()
        #expect(claims.claim([output("a", "live/1"), output("b", "live/2")], for: "one") == nil)
        let conflict = DestinationClaims.Conflict(output: "y", holder: "one")
        #expect(claims.claim([output("x", "live/3"), output("y", "live/2")], for: "two") == conflict)
        // All or none is claimed: a destination that was free stays free.
        #expect(claims.claim([output("z", "live/3")], for: "three") == nil)
        // Destinations that a task gives up are free; those that it keeps are not.
        #expect(claims.claim([output("a", "live/1")], for: "one") == nil)
        #expect(claims.claim([output("y", "live/2")], for: "two") == nil)
        #expect(claims.claim([output("x", "live/1")], for: "two")?.holder == "one")
        // A task may claim a destination again that it already holds.
        #expect(claims.claim([output("x", "live/1")], for: "one") == nil)
    }

    @Test func whatIsThereAnywayTakesWhatIsFree() {
        let claims = DestinationClaims()
        #expect(claims.hold([output("a", "live")], for: "one") == nil)
        #expect(claims.hold([output("a", "live"), output("b", "other")], for: "two")?.holder == "one")
        #expect(claims.claim([output("c", "other")], for: "three")?.holder == "two")
        claims.hold([], for: "one")
        #expect(claims.claim([output("c", "live")], for: "three") == nil)
    }

    @Test func spellingsOfOneDestinationAreOne() {
        let plain = DestinationClaims.destination("rtmp://cdn.example/app/key")
        for other in [
            "rtmp://CDN.example/app/key", "rtmp://cdn.example:1935/app/key", "rtmp://cdn.example/app/key?a=b",
        ] {
            #expect(DestinationClaims.destination(other) == plain, "\(other)")
        }
        for other in ["rtmp://cdn.example/app/key2", "rtmp://cdn.example:1936/app/key", "rtmps://cdn.example/app/key"] {
            #expect(DestinationClaims.destination(other) != plain, "\(other)")
        }
    }

    @Test(arguments: [
        ("srt://h:9000?streamid=publish:a&latency=200", "srt://h:9000?latency=120&streamid=publish:b"),
        ("rtmp://b.rtmp.youtube.com/live2?backup=1/one", "rtmp://b.rtmp.youtube.com/live2?backup=1/two"),
        ("rtmp://h/live?vhost=a/x", "rtmp://h/live?vhost=b/x"),
        ("rtmp://h/live-bvc/?streamname=a&key=b", "rtmp://h/live-bvc/?streamname=c&key=d"),
        ("whip://h:1985/rtc/v1/whip/?app=live&stream=a", "whip://h:1985/rtc/v1/whip/?app=live&stream=b"),
    ])
    func streamsThatAreNamedInTheQueryAreTwo(one: String, other: String) {
        #expect(DestinationClaims.destination(one) != DestinationClaims.destination(other))
    }

    @Test(arguments: [
        ("srt://h:9000?streamid=a&latency=200", "srt://h:9000?mode=caller&streamid=a"),
        ("srt://h:9000?mode=listener&streamid=a", "srt://h:9000?mode=listener&streamid=b"),
        ("srt://h:9000?latency=200", "srt://h:9000"),
        ("rtmp://h/live2?backup=1/one?token=a", "rtmp://h/live2?backup=1/one?token=b"),
        ("rtmp://h/app/instance/x?token=a/b", "rtmp://h/app/instance/x?token=c/d"),
    ])
    func streamsThatDifferInOtherParametersAreOne(one: String, other: String) {
        #expect(DestinationClaims.destination(one) == DestinationClaims.destination(other))
    }

    /// Some servers have one address for all streams and distinguish them by their tokens.
    @Test func tokensTellStreamsOfOneAddressApart() {
        let one = DestinationClaims.destination("whips://one@media.example/w")
        #expect(one == DestinationClaims.destination("whips://one@media.example:443/w"))
        #expect(one != DestinationClaims.destination("whips://two@media.example/w"))
        #expect(
            DestinationClaims.destination("whip://media.example/w")
                == DestinationClaims.destination("whip://media.example:80/w"))
    }

    @Test func ofOtherTenantsNothingIsTold() {
        let conflict = DestinationClaims.Conflict(output: "a", holder: TaskID(app: "shop", name: "launch"))
        #expect(OrchestratorError.outputTaken(conflict, app: "shop").detail.contains("task launch"))
        let foreign = OrchestratorError.outputTaken(conflict, app: "default").detail
        #expect(!foreign.contains("launch") && !foreign.contains("shop"))
    }
}
