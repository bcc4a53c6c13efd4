import Foundation

/// Descriptors that a process keeps for its own work: connections from outside wait while fewer are left.
///
/// A process that cannot open a file does not only fail at what it does: libdispatch ends it, because it reads the state of
/// its threads from files.
public struct DescriptorReserve: Hashable, Sendable {
    /// For listeners that anyone can reach: 32, and an eighth of a limit that is smaller than 256.
    public static let ofStrangers = DescriptorReserve(most: 32, share: 8)
    /// For listeners that only processes of this service reach, which have to rule one that strangers have filled: half as many.
    public static let ofService = DescriptorReserve(most: 16, share: 16)

    private let most: Int
    private let share: Int

    private init(most: Int, share: Int) {
        self.most = most
        self.share = share
    }

    /// Returns the number of descriptors that are kept.
    ///
    /// - Parameter limit: Number of descriptors that the process may have.
    public func size(ofLimit limit: Int) -> Int { min(most, limit / share) }

    /// Whether so few descriptors are left that no connection may be accepted.
    ///
    /// - Parameters:
    ///   - descriptor: The lowest one that is free.
    ///   - limit: Number of descriptors that the process may have.
    func isReached(by descriptor: Int32, limit: Int) -> Bool { Int(descriptor) >= limit - size(ofLimit: limit) }

    /// Whether so few descriptors are left now. Opens one for a moment; the kernel gives the lowest that is free.
    public var isReached: Bool {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return false }
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
        // A process that may not open this file has descriptors all the same.
        guard descriptor >= 0 else { return errno == EMFILE || errno == ENFILE }
        defer { close(descriptor) }
        return isReached(by: descriptor, limit: Int(clamping: limit.rlim_cur))
    }
}
