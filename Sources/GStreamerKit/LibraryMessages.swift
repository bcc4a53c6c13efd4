import CGStreamer
import Glibc
import Synchronization

/// Limits the messages that GLib and the elements themselves write to standard error.
///
/// Bytes from the network can make an element complain thousands of times a second (`rtmp2src` does so about an RTMP
/// server that sends garbage), and such a log must not fill the disk.
enum LibraryMessages {
    /// Largest number of messages written in `window` seconds; the rest is dropped, and one message says so.
    private static let most = 10
    private static let window = 60

    private struct State {
        var began = 0
        var written = 0
    }
    private static let state = Mutex(State())

    /// Installs the limit. Call once in a process: GLib refuses a second writer.
    static func limit() {
        g_log_set_writer_func(
            { level, fields, count, _ in
                // Debug and info are shown only on request (`G_MESSAGES_DEBUG`).
                guard level.rawValue & LibraryMessages.serious == 0 || LibraryMessages.mayWrite() else {
                    return G_LOG_WRITER_HANDLED
                }
                return g_log_writer_default(level, fields, count, nil)
            }, nil, nil)
    }

    private static let serious =
        G_LOG_LEVEL_WARNING.rawValue | G_LOG_LEVEL_CRITICAL.rawValue | G_LOG_LEVEL_MESSAGE.rawValue

    private static func mayWrite() -> Bool {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let now = time.tv_sec
        let number = state.withLock { state in
            if state.written == 0 || now - state.began >= window { state = State(began: now) }
            state.written += 1
            return state.written
        }
        if number == most + 1 {
            let text = "GStreamer: more than \(most) messages in \(window) s; the rest are dropped\n"
            _ = text.withCString { write(STDERR_FILENO, $0, strlen($0)) }
        }
        return number <= most
    }
}
