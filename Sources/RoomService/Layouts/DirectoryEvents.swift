import Foundation

/// The kernel's queue of events in directories (inotify(7)). Belongs to one thread.
final class DirectoryEvents {
    /// Descriptor that is readable while events wait.
    let descriptor: Int32
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)

    struct Event {
        /// Identifier that `watch` returned; -1 when the queue overflowed.
        var watch: Int32
        var mask: UInt32
        /// Name of the entry in the directory; empty for the directory itself.
        var name: String

        func has(_ bits: UInt32) -> Bool { mask & bits != 0 }
    }

    /// - Throws: `errno` when the kernel provides no queue, or no further one.
    init() throws(SystemError) {
        #if os(Linux)
            descriptor = inotify_init1(Int32(O_NONBLOCK | O_CLOEXEC))
            guard descriptor >= 0 else { throw SystemError(code: errno) }
        #else
            descriptor = -1
            throw SystemError(code: ENOSYS)
        #endif
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Watches a directory for the events in `mask`.
    ///
    /// - Throws: `errno`: ENOENT, ENOTDIR, EACCES, ENOSPC when the user has too many watches …
    func watch(_ directory: String, for mask: UInt32) throws(SystemError) -> Int32 {
        #if os(Linux)
            let watch = inotify_add_watch(descriptor, directory, mask | UInt32(IN_ONLYDIR))
            guard watch >= 0 else { throw SystemError(code: errno) }
            return watch
        #else
            throw SystemError(code: ENOSYS)
        #endif
    }

    func endWatch(_ watch: Int32) {
        #if os(Linux)
            inotify_rm_watch(descriptor, watch)
        #endif
    }

    /// Takes all waiting events.
    func take() -> [Event] {
        var events: [Event] = []
        while true {
            let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else {
                if count < 0, errno == EINTR { continue }
                return events
            }
            var start = 0
            // struct inotify_event: wd, mask, cookie, len, then len bytes of a name padded with zeros.
            while start + 16 <= count {
                let (watch, mask, length) = buffer.withUnsafeBytes {
                    (
                        $0.loadUnaligned(fromByteOffset: start, as: Int32.self),
                        $0.loadUnaligned(fromByteOffset: start + 4, as: UInt32.self),
                        Int($0.loadUnaligned(fromByteOffset: start + 12, as: UInt32.self))
                    )
                }
                let end = min(start + 16 + length, count)
                let name = buffer[(start + 16)..<end].prefix { $0 != 0 }
                events.append(Event(watch: watch, mask: mask, name: String(decoding: name, as: UTF8.self)))
                start = end
            }
        }
    }
}

/// A failed system call's `errno`.
struct SystemError: Error, Hashable, CustomStringConvertible {
    var code: Int32
    var description: String { String(cString: strerror(code)) }
}
