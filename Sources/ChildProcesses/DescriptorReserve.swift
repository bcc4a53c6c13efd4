import Foundation

/// Descriptors that a process reserves for its own work: connections from outside wait while fewer are free.
///
/// Running out of descriptors does not only make calls fail: libdispatch ends the process, because it reads the state
/// of its threads from files.
public struct DescriptorReserve: Hashable, Sendable {
    /// The reserve for listeners that anyone can reach: 32, or an eighth of a limit below 256.
    public static let ofStrangers = DescriptorReserve(most: 32, share: 8)
    /// The reserve for listeners that only processes of this service can reach, which must be able to control a process
    /// that untrusted clients have filled: half as many.
    public static let ofService = DescriptorReserve(most: 16, share: 16)

    private let most: Int
    private let share: Int

    private init(most: Int, share: Int) {
        self.most = most
        self.share = share
    }

    /// Returns the number of reserved descriptors.
    ///
    /// - Parameter limit: Number of descriptors that the process may have.
    public func size(ofLimit limit: Int) -> Int { min(most, limit / share) }

    /// Returns whether so few descriptors are left that no connection may be accepted.
    ///
    /// - Parameters:
    ///   - descriptor: The lowest free descriptor.
    ///   - limit: Number of descriptors that the process may have.
    func isReached(by descriptor: Int32, limit: Int) -> Bool { Int(descriptor) >= limit - size(ofLimit: limit) }

    /// Whether only the reserve is left now. Opens a descriptor for a moment; the kernel returns the lowest free one.
    public var isReached: Bool {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return false }
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
        // A process without permission to open this file may still have free descriptors.
        guard descriptor >= 0 else { return errno == EMFILE || errno == ENFILE }
        defer { close(descriptor) }
        return isReached(by: descriptor, limit: Int(clamping: limit.rlim_cur))
    }
}
