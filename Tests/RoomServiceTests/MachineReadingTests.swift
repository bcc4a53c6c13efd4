import Foundation
import Testing

@testable import RoomService

/// The reading of Linux's processor statistics.
@Suite struct MachineReadingTests {
    private static let stat = "cpu  1000 200 300 5000 70 10 20 400 90 0\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 5\n"
    private static let pressure = """
        some avg10=0.37 avg60=0.72 avg300=2.03 total=4285100050
        full avg10=0.00 avg60=0.00 avg300=0.00 total=17

        """

    @Test func partsAreReadAsTheirManualsSay() {
        // The sum of user, nice, system, irq, softirq and steal: no idle time, no waiting for disks, and guests not
        // counted twice.
        #expect(MachineReading.busySeconds(Self.stat, ticks: 100) == 19.3)
        #expect(MachineReading.waitedSeconds(Self.pressure) == 4285.10005)
        #expect(MachineReading.quota("150000 100000\n") == 1.5)
        #expect(MachineReading.quota("max 100000\n") == nil)
        #expect(MachineReading.usedSeconds("usage_usec 2500000\nuser_usec 1\n") == 2.5)
        #expect(MachineReading.groupPath("12:cpu:/old\n0::/user.slice/mix\n") == "/user.slice/mix")
        #expect(MachineReading.ancestors(of: "/a/b") == ["/a/b", "/a", "/"])
        #expect(MachineReading.ancestors(of: "/") == ["/"])
    }

    @Test(arguments: ["", "cpu", "cpu  1 2 3\n", "total=x", "some avg10=0\n", "\u{0}", "max"])
    func whatCannotBeReadIsNothing(_ text: String) {
        #expect(MachineReading.busySeconds(text) == nil)
        #expect(MachineReading.waitedSeconds(text) == nil)
        #expect(MachineReading.quota(text) == nil)
        #expect(MachineReading.usedSeconds(text) == nil)
        #expect(MachineReading.groupPath(text) == nil)
    }

    private static func machine(_ files: [String: String], _ body: (String) throws -> Void) throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "machine-\(UInt64.random(in: 0 ... .max))")
        defer { try? FileManager.default.removeItem(at: root) }
        for (path, text) in files {
            let file = root.appending(path: path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        try body(root.path)
    }

    @Test func aMachineWithoutQuotaIsReadWhole() throws {
        try Self.machine(["proc/stat": Self.stat, "proc/pressure/cpu": Self.pressure]) { root in
            let reading = try #require(MachineReading.now(root: root, processors: 8))
            #expect(reading.cores == 8)
            #expect(reading.busySeconds > 0 && reading.waitedSeconds == 4285.10005)
        }
        try Self.machine([:]) { #expect(MachineReading.now(root: $0, processors: 8) == nil) }
    }

    /// In a container, the quota is the machine's size, and only the container's own use counts.
    @Test func theNarrowestQuotaIsTheMachine() throws {
        let files = [
            "proc/stat": Self.stat, "proc/self/cgroup": "0::/pod/mix\n",
            "sys/fs/cgroup/pod/cpu.max": "250000 100000\n", "sys/fs/cgroup/pod/cpu.stat": "usage_usec 7000000\n",
            "sys/fs/cgroup/pod/mix/cpu.max": "400000 100000\n", "sys/fs/cgroup/pod/mix/cpu.stat": "usage_usec 1\n",
        ]
        try Self.machine(files) { root in
            #expect(
                MachineReading.now(root: root, processors: 8)
                    == MachineReading(cores: 2.5, busySeconds: 7, waitedSeconds: nil))
            // A quota larger than the machine limits nothing.
            #expect(MachineReading.now(root: root, processors: 2)?.cores == 2)
        }
    }

    @Test func thisMachineCanBeRead() throws {
        let reading = try #require(MachineReading.now())
        #expect(reading.cores > 0 && reading.busySeconds > 0)
    }
}
