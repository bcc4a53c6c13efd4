import CEpoll
import Foundation

/// The descriptors that a socket loop waits for (epoll(7)). The cost of a wait depends on the number of ready
/// descriptors, not on their total number.
///
/// Belongs to the loop's thread.
struct SocketPoller {
    private struct Entry {
        let watch: SocketLoop.Watch
        /// Distinguishes events of this registration from late events of an earlier one with the same descriptor.
        let generation: UInt32
    }

    /// The tag of the descriptor that ends a wait; no registration has generation 0.
    private static let wakeTag: UInt64 = 0
    /// Longest wait in ms while the system has no descriptor for epoll.
    private static let patience: Int32 = 10

    private let wake: Int32
    private var epoll: Int32
    /// The registrations by descriptor. As long as the process has descriptors at most: the system assigns the lowest free one.
    private var entries: [Entry?] = []
    private var generation: UInt32 = 0
    private var ready = [epoll_shim_event](repeating: epoll_shim_event(), count: Int(EPOLL_SHIM_EVENTS))

    /// - Parameter wake: A descriptor that ends a wait when it is readable; negative means none.
    init(wake: Int32) {
        self.wake = wake
        epoll = epoll_shim_create()
        registerAll()
    }

    /// Registers the current descriptor and events of a watch.
    ///
    /// - Parameter former: The descriptor with which it was registered before; negative means none.
    mutating func update(_ watch: SocketLoop.Watch, former: Int32) {
        if former != watch.descriptor { remove(watch, former) }
        guard watch.descriptor >= 0 else { return }
        if entry(of: watch.descriptor)?.watch !== watch {
            generation = generation &+ 1
            if generation == 0 { generation = 1 }
            let missing = Int(watch.descriptor) + 1 - entries.count
            if missing > 0 { entries += [Entry?](repeating: nil, count: missing) }
            entries[Int(watch.descriptor)] = Entry(watch: watch, generation: generation)
        }
        register(watch.descriptor)
    }

    /// Removes a watch. Its descriptor may be closed afterwards.
    mutating func remove(_ watch: SocketLoop.Watch, _ descriptor: Int32) {
        // Another watch may have taken over the descriptor.
        guard let entry = entry(of: descriptor), entry.watch === watch else { return }
        entries[Int(descriptor)] = nil
        epoll_shim_remove(epoll, descriptor)
    }

    /// Waits, at most for `timeout` ms; −1 means for ever.
    ///
    /// - Returns: The number of ready descriptors, whose tags are `self[0]` and so on.
    mutating func wait(_ timeout: Int32) -> Int {
        guard epoll >= 0 else {
            usleep(UInt32(timeout < 0 ? Self.patience : min(timeout, Self.patience)) * 1000)
            epoll = epoll_shim_create()
            registerAll()
            return 0
        }
        return max(0, Int(epoll_shim_wait(epoll, &ready, timeout)))
    }

    subscript(index: Int) -> UInt64 { ready[index].tag }

    /// Returns whether the tag is that of `wake`.
    static func isWake(_ tag: UInt64) -> Bool { tag == wakeTag }

    /// Returns the watch that was registered with the tag; `nil` if it is no longer registered.
    func watch(of tag: UInt64) -> SocketLoop.Watch? {
        guard let entry = entry(of: Int32(truncatingIfNeeded: tag)), entry.generation == UInt32(tag >> 32) else {
            return nil
        }
        return entry.watch
    }

    private func entry(of descriptor: Int32) -> Entry? {
        entries.indices.contains(Int(descriptor)) ? entries[Int(descriptor)] : nil
    }

    private func register(_ descriptor: Int32) {
        guard let entry = entry(of: descriptor) else { return }
        let tag = UInt64(entry.generation) << 32 | UInt64(UInt32(bitPattern: descriptor))
        _ = epoll_shim_set(epoll, descriptor, UInt32(entry.watch.events), tag)
    }

    private func registerAll() {
        guard epoll >= 0 else { return }
        if wake >= 0 { _ = epoll_shim_set(epoll, wake, UInt32(POLLIN), Self.wakeTag) }
        for descriptor in entries.indices { register(Int32(descriptor)) }
    }
}
