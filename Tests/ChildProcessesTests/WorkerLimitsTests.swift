import Testing

@testable import ChildProcesses

struct WorkerLimitsTests {
    @Test func whatTheServicePassesOnIsWhatAWorkerReads() {
        let limits = WorkerLimits(
            memory: [.mixer: 3000, .rendition: 0, .relay: 16], images: "/a, b=c/images",
            media: ["/srv/clips:old", "/data/100%3A/media", "/b%253A"], outputs: "/var/lib/programs")
        #expect(WorkerLimits(environment: limits.environment) == limits)
        #expect(limits.bytes(of: .mixer) == 3000 << 20)
        #expect(limits.bytes(of: .rendition) == nil)
        #expect(limits.bytes(of: .recorder) == UInt(WorkerKind.recorder.defaultMemory) << 20)
        #expect(WorkerLimits().environment.isEmpty)
    }

    @Test(arguments: ["mixer", "mixer=", "mixer=1", "mixer=-5", "mixer=9999999999999999999", "other=99", "=,=,,"])
    func whatCannotBeReadLeavesTheDefault(text: String) {
        let limits = WorkerLimits(environment: [WorkerLimits.memoryVariable: text + ",packager=77"])
        #expect(limits.memory == [.packager: 77])
    }

    /// With the distance from the relay, the score for a memory shortage rises and the niceness never falls, since only
    /// a privileged process can lower either of them again.
    @Test func workersAreMissedTheLessTheFurtherTheyAreFromTheRelay() {
        let chains: [[WorkerKind]] = [
            [.relay, .mixer], [.relay, .pull], [.relay, .recorder], [.relay, .packager, .rendition],
        ]
        for chain in chains {
            for (parent, child) in zip(chain, chain.dropFirst()) {
                #expect(parent.memoryShortage < child.memoryShortage)
                #expect(parent.niceness <= child.niceness)
            }
        }
        #expect(WorkerKind.mixer.memoryShortage < WorkerKind.recorder.memoryShortage)
        #expect(WorkerKind.mixer.niceness < WorkerKind.packager.niceness)
    }
}
