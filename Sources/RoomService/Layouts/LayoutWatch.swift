import Foundation
import Synchronization

/// Watches the files of a layouts directory, reads changed ones, and reports its findings. Has its own thread, because
/// waiting and reading block.
final class LayoutWatch: Sendable {
    /// A reading of a layout's file.
    struct Finding: Sendable {
        var reading: LayoutReading
        /// Stamp of the file before it was read; `nil` if there was none. A file whose current stamp differs was
        /// written since and is read again.
        var stamp: LayoutFiles.Stamp?
    }

    /// Findings since the last `take`, with the newest reading of each file.
    struct Findings: Sendable {
        var layouts: [String: Finding] = [:]
        /// Other files that were written or removed, as paths relative to the directory.
        var others: Set<String> = []
        /// Whether changes of other files may have been missed, so that any of them may differ.
        var mayHaveMissedOthers = false
        /// Time of the first finding, in ns of CLOCK_MONOTONIC.
        var noticedAt: Int64 = 0
        /// Notes for operators.
        var notes: [String] = []

        var isEmpty: Bool { layouts.isEmpty && others.isEmpty && !mayHaveMissedOthers && notes.isEmpty }

        /// Adds later findings.
        mutating func merge(_ newer: Findings) {
            if isEmpty { noticedAt = newer.noticedAt }
            layouts.merge(newer.layouts) { $1 }
            others.formUnion(newer.others)
            mayHaveMissedOthers = mayHaveMissedOthers || newer.mayHaveMissedOthers
            notes += newer.notes
        }
    }

    /// Yields at least one element after a finding; ends after `stop`.
    let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation
    private let found = Mutex(Findings())
    private let files: LayoutFiles
    private let pollsOnly: Bool
    /// Pipe that ends the thread. `deinit` closes it: the thread keeps this object until it has ended.
    private let wakeUp: (read: Int32, write: Int32)

    /// - Parameter pollsOnly: Whether to poll, as on a system whose kernel reports no changes.
    init(files: LayoutFiles, pollsOnly: Bool = false) throws(SystemError) {
        self.files = files
        self.pollsOnly = pollsOnly
        (signals, signal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SystemError(code: errno) }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        wakeUp = (ends[0], ends[1])
    }

    deinit {
        close(wakeUp.read)
        close(wakeUp.write)
    }

    /// Starts the thread. Call once. All existing files are reported first.
    func start() {
        let thread = Thread { [self] in
            var loop = LayoutWatchLoop(files: files, pollsOnly: pollsOnly)
            loop.run(until: wakeUp.read) { findings in
                found.withLock { $0.merge(findings) }
                signal.yield()
            }
            signal.finish()
        }
        thread.name = "layouts"
        thread.start()
    }

    func stop() {
        var byte: UInt8 = 1
        write(wakeUp.write, &byte, 1)
    }

    func take() -> Findings {
        found.withLock { found in
            defer { found = Findings() }
            return found
        }
    }
}
