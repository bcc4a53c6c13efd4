import Foundation
import Testing

@testable import LayoutEngine
@testable import ViewerProbe

/// The program survives the death and the standstill of the service.
@Suite(.serialized) struct ReadoptionTests {
    /// The service is killed during a bypass and during a mix: the relay continues, and the restarted service takes it
    /// over.
    @Test(.timeLimit(.minutes(5))) func aKilledServiceCostsNoFrame() async throws {
        try await Stage.run(canvas: Canvas(width: 360, height: 640, fps: 20)) { stage in
            try await stage.publish("alice", SyntheticPublisher(id: 1, width: 360, height: 640))
            try await stage.publish("bob", SyntheticPublisher(id: 2, width: 360, height: 640, gopSeconds: 1))
            try await stage.open(host: "alice")
            let relay = try stage.relay()
            let viewer = try await stage.watch()
            try await Task.sleep(for: .seconds(1))

            try await stage.killService()
            // A program that depended on the service would have ended by then.
            try await Task.sleep(for: .seconds(2))
            try await stage.startServiceAgain()
            try await stage.waitForOnAir("bypass")
            #expect(try stage.relay() == relay, "the relay was started again")

            try await stage.join("bob")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            let mixer = try stage.mixer()
            try await stage.killService()
            try await Task.sleep(for: .seconds(2))
            try await stage.startServiceAgain()
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            #expect(try stage.relay() == relay, "the relay was started again")
            #expect(try stage.mixer() == mixer, "the mixer was started again")

            try await endWhole(stage, viewer)
        }
    }

    /// The service is stopped during a mix, for longer than a relay may be silent, and continues.
    @Test(.timeLimit(.minutes(5))) func aStoppedServiceCostsNoFrame() async throws {
        try await Stage.run(canvas: Canvas(width: 360, height: 640, fps: 20)) { stage in
            try await stage.publish("alice", SyntheticPublisher(id: 1, width: 360, height: 640, gopSeconds: 1))
            try await stage.publish("bob", SyntheticPublisher(id: 2, width: 360, height: 640, gopSeconds: 1))
            try await stage.open(host: "alice")
            let viewer = try await stage.watch()
            // A viewer of the CDN begins at a keyframe, of which there is one a second.
            try await Task.sleep(for: .seconds(2))
            try await stage.join("bob")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            let (relay, mixer) = (try stage.relay(), try stage.mixer())

            let service = stage.service.identifier
            kill(service, SIGSTOP)
            defer { kill(service, SIGCONT) }
            try await Task.sleep(for: .seconds(6))
            kill(service, SIGCONT)
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            // A relay that was taken for a silent one would be replaced now.
            try await Task.sleep(for: .seconds(4))
            #expect(try stage.relay() == relay, "a working relay was replaced")
            let workers = ProcessTable.descendants(of: relay)
            #expect(workers.contains { $0.identifier == mixer }, "a working mixer was replaced")

            try await endWhole(stage, viewer)
        }
    }

    /// Lets the guest leave, and judges everything that the viewer has received: a mix and the bypasses around it.
    private func endWhole(_ stage: Stage, _ viewer: ProbeRecorder) async throws {
        try await stage.leave("bob")
        let task = try await stage.waitForOnAir("bypass")
        #expect(task.outputs.map(\.reconnects) == [0])
        try await Task.sleep(for: .seconds(1))
        let report = try await stage.judge(viewer, expectedSwitches: 2)
        #expect(report.isWithinLimits, "\(report.table)")
        #expect(report.connections == 1 && report.publisherLosses == 0)
        #expect(report.isWhole(), "\(report.sources)")
    }
}
