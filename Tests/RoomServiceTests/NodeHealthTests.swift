import Foundation
import TestSupport
import Testing

@testable import RoomService

/// What keeps a node from taking rooms.
@Suite struct NodeHealthTests {
    @Test func clocksMayDifferByTwoSeconds() {
        #expect(NodeHealth.clockProblem(store: 100, between: 98.1, and: 98.2) == nil)
        #expect(NodeHealth.clockProblem(store: 100, between: 101.9, and: 130) == nil)
        // An answer that came late proves nothing.
        #expect(NodeHealth.clockProblem(store: 100, between: 90, and: 130) == nil)
        #expect(
            NodeHealth.clockProblem(store: 100, between: 103.5, and: 103.6)
                == "its clock is 3.5 s ahead of the database's")
        #expect(
            NodeHealth.clockProblem(store: 100, between: 96.9, and: 97) == "its clock is 3.0 s behind the database's")
    }

    @Test func aDiskIsJudgedByAFileOnIt() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("disk-\(UUID().uuidString)").path
        let probe = DiskProbe(directory: directory)
        #expect(probe.look() == nil, "nothing is known yet")
        let problem = try await poll(within: .seconds(20), every: .milliseconds(5)) { probe.look() }
        #expect(problem == "\(directory)/node-health: No such file or directory")
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let isWell = try await poll(within: .seconds(20), every: .milliseconds(5)) { probe.look() == nil ? true : nil }
        #expect(isWell == true)
        #expect(FileManager.default.fileExists(atPath: directory + "/node-health"))
    }

    @Test func aMachineIsAsFullAsItsTasksNeed() {
        var figures = MachineLoad().figures
        #expect(LoadRatios(load: figures, memory: nil, rooms: nil, viewers: (5, .max)).samples.isEmpty)
        figures.capacity = 4
        figures.availableCores = 1
        figures.waitingCores = 2
        let memory = "MemTotal:  1000 kB\nMemFree:  10 kB\nMemAvailable:  250 kB\n"
        let ratios = LoadRatios(load: figures, memory: memory, rooms: (count: 3, limit: 4), viewers: (50, 100))
        #expect(ratios.cpu == 1.25 && ratios.memory == 0.75 && ratios.rooms == 0.75 && ratios.viewers == 0.5)
        #expect(ratios.samples.map(\.labels) == [["cpu"], ["memory"], ["rooms"], ["viewers"]])
        let unlimited = LoadRatios(load: figures, memory: "", rooms: (count: 3, limit: nil), viewers: (1, .max))
        #expect(unlimited.samples.map(\.labels) == [["cpu"]])
    }
}
