import MixModel
import Testing

@testable import RoomService

@Suite struct OutputLedgerTests {
    private func output(_ id: OutputID, _ path: String) -> PushDestination {
        PushDestination(id: id, url: "rtmp://cdn.example/\(path)")
    }

    @Test func aDestinationHasOneTask() {
        let ledger = OutputLedger()
        #expect(ledger.claim([output("a", "live/1"), output("b", "live/2")], for: "one") == nil)
        let conflict = OutputLedger.Conflict(output: "y", holder: "one")
        #expect(ledger.claim([output("x", "live/3"), output("y", "live/2")], for: "two") == conflict)
        // All or none: what was free is still.
        #expect(ledger.claim([output("z", "live/3")], for: "three") == nil)
        // What a task gives up is free, what it keeps is not.
        #expect(ledger.claim([output("a", "live/1")], for: "one") == nil)
        #expect(ledger.claim([output("y", "live/2")], for: "two") == nil)
        #expect(ledger.claim([output("x", "live/1")], for: "two")?.holder == "one")
        // Its old ones are its own until the new ones are.
        #expect(ledger.claim([output("x", "live/1")], for: "one") == nil)
    }

    @Test func whatIsThereAnywayTakesWhatIsFree() {
        let ledger = OutputLedger()
        #expect(ledger.hold([output("a", "live")], for: "one") == nil)
        #expect(ledger.hold([output("a", "live"), output("b", "other")], for: "two")?.holder == "one")
        #expect(ledger.claim([output("c", "other")], for: "three")?.holder == "two")
        ledger.hold([], for: "one")
        #expect(ledger.claim([output("c", "live")], for: "three") == nil)
    }

    @Test func spellingsOfOneDestinationAreOne() {
        let plain = OutputLedger.destination("rtmp://cdn.example/app/key")
        for other in [
            "rtmp://CDN.example/app/key", "rtmp://cdn.example:1935/app/key", "rtmp://cdn.example/app/key?a=b",
        ] {
            #expect(OutputLedger.destination(other) == plain, "\(other)")
        }
        for other in ["rtmp://cdn.example/app/key2", "rtmp://cdn.example:1936/app/key", "rtmps://cdn.example/app/key"] {
            #expect(OutputLedger.destination(other) != plain, "\(other)")
        }
    }

    @Test func ofOtherTenantsNothingIsTold() {
        let conflict = OutputLedger.Conflict(output: "a", holder: TaskID(app: "shop", name: "launch"))
        #expect(OrchestratorError.outputTaken(conflict, app: "shop").detail.contains("task launch"))
        let foreign = OrchestratorError.outputTaken(conflict, app: "default").detail
        #expect(!foreign.contains("launch") && !foreign.contains("shop"))
    }
}
