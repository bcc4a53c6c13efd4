import Foundation
import MixModel
import Testing

@testable import ProgramRelay

/// The lock of a room's directory.
@Suite(.timeLimit(.minutes(1))) struct PackagerLockTests {
    /// The service removes directories that no packager has needed for a while, also while the next one waits.
    @Test func aLockThatIsRemovedIsTakenAnew() async throws {
        let name = "hls-lock-\(UUID().uuidString)"
        let plan = PlannedHLS(directory: NSTemporaryDirectory() + name, settings: HLSSettings())
        defer { try? FileManager.default.removeItem(atPath: plan.directory) }
        let path = "\(plan.directory)/lock"
        var first = await PackagerLock.take(plan)
        #expect(first != nil)
        let next = Task { await PackagerLock.take(plan) }
        while Self.descriptors(of: "/\(name)/lock") < 2 { try await Task.sleep(for: .milliseconds(1)) }
        try FileManager.default.removeItem(atPath: plan.directory)
        withExtendedLifetime(first) {}
        first = nil
        let second = await next.value
        #expect(second != nil && access(path, F_OK) == 0)
        let third = await PackagerLock.take(plan, patience: 0)
        #expect(third == nil, "it is locked")
        withExtendedLifetime(second) {}
    }

    /// Returns how often this process has opened a file whose path ends like this.
    private static func descriptors(of path: String) -> Int {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return names.count { name in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)"))?.hasSuffix(path)
                == true
        }
    }
}
