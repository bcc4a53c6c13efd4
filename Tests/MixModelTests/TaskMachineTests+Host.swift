import LayoutEngine
import MixModel
import Testing

/// The choice of the host, and the effects of the host's leaving.
extension TaskMachineTests {
    @Test func theHostIsWhoPublishedFirstAndStaysSo() {
        var bench = Bench()
        _ = bench.tell(.participantJoined(user: "zoe", role: nil, name: nil))
        _ = bench.publish("alice")
        bench.now += 500_000_000
        #expect(bench.publish("zoe").plans.first?.mode == .mix(host: "alice/camera"))
    }

    @Test func theRoleDecidesOverTheOrderAndTheSettingOverTheRole() {
        var bench = Bench()
        _ = bench.publish("alice")
        bench.now += 500_000_000
        #expect(bench.publish("bob", role: .host).plans.first?.mode == .mix(host: "bob/camera"))
        bench.room.settings.host = "alice"
        #expect(bench.settingsChanged().plans.first?.mode == .mix(host: "alice/camera"))
    }

    @Test func whenTheHostLeavesTheNextInJoinOrderIsPromoted() {
        var bench = Bench()
        for user in ["alice", "bob", "carol"] as [UserID] {
            _ = bench.publish(user)
            bench.now += 500_000_000
        }
        #expect(bench.unpublish("alice").plans.first?.mode == .mix(host: "bob/camera"))
    }

    @Test func aDesignatedHostWhoHasNotComeYetDoesNotBlockTheProgram() {
        var bench = Bench()
        bench.room.settings.host = "zoe"
        bench.room.settings.policy.whenHostLeaves = .slate
        #expect(bench.publish("alice").plans.first?.mode == .bypass("alice/camera"))
        bench.now += 500_000_000
        #expect(bench.publish("bob").plans.first?.mode == .mix(host: "alice/camera"))
    }

    @Test func theSlateIsOnAirWhileTheHostIsAway() {
        var bench = Bench()
        bench.room.settings.policy.whenHostLeaves = .slate
        _ = bench.publish("alice")
        bench.now += 500_000_000
        _ = bench.publish("bob")
        bench.now += 500_000_000
        #expect(bench.unpublish("alice").plans.first?.mode == .slate)
        bench.now += 500_000_000
        #expect(bench.publish("alice").plans.first?.mode == .mix(host: "alice/camera"))
    }

    @Test func theTaskEndsWithTheHostWhenThePolicySaysSo() {
        var bench = Bench()
        bench.room.settings.policy.whenHostLeaves = .stop
        _ = bench.publish("alice")
        bench.now += 500_000_000
        _ = bench.publish("bob")
        bench.now += 500_000_000
        #expect(bench.unpublish("alice").contains(.drainRelay))
        _ = bench.task.relayDrained()
        #expect(bench.settingsChanged().isEmpty)
        #expect(bench.publish("carol").isEmpty)
        #expect(bench.publish("alice").contains(.launchRelay))
    }
}
