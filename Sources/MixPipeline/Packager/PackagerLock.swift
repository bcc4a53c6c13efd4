import Foundation
import MixModel

/// Keeps two packagers out of one room's directory: while one still closes its playlists, the next one waits.
public final class PackagerLock: Sendable {
    private let descriptor: Int32

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Returns when the directory is ours. One that cannot be made is nobody's: writing to it tells why.
    ///
    /// - Parameter patience: seconds; longer than a packager may take to end.
    /// - Returns: `nil` if another one still has it, or it cannot be made.
    public static func take(_ plan: PlannedHLS, patience: Double = 15) async -> PackagerLock? {
        try? SessionFiles(directory: plan.directory).create()
        let descriptor = open("\(plan.directory)/lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return nil }
        let lock = PackagerLock(descriptor)
        let deadline = ContinuousClock.now + .seconds(patience)
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard ContinuousClock.now < deadline else { return nil }
            try? await Task.sleep(for: .milliseconds(20))
        }
        return lock
    }
}
