import Foundation
import MixModel

/// A lock that keeps a second packager out of a room's directory while the first one is still closing its playlists.
public final class PackagerLock: Sendable {
    private let descriptor: Int32

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Waits until the directory is locked. If the lock cannot be created, returns at once: writing to the directory
    /// then shows the reason.
    ///
    /// - Parameter patience: Longest wait in seconds. Longer than a packager may take to end.
    /// - Returns: `nil` if another packager still has the lock, or if it cannot be created.
    public static func take(_ plan: PlannedHLS, patience: Double = 15) async -> PackagerLock? {
        let deadline = ContinuousClock.now + .seconds(patience)
        var attempts = 0
        while true {
            attempts += 1
            try? SessionFiles(directory: plan.directory).create()
            let descriptor = open("\(plan.directory)/lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else {
                // The service may have removed the directory in between.
                guard errno == ENOENT, attempts < 3 else { return nil }
                continue
            }
            let lock = PackagerLock(descriptor)
            while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
                guard ContinuousClock.now < deadline else { return nil }
                try? await Task.sleep(for: .milliseconds(20))
            }
            // The service may just have removed the directory, because the room had no HLS for a while.
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_nlink == 0, ContinuousClock.now < deadline else {
                return lock
            }
        }
    }
}
