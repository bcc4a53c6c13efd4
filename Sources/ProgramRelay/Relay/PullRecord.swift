import Dispatch
import Foundation
import MixModel
import ProgramSplicer

/// The file next to a relay's socket in which `SourceQuarantine` outlives a crash. A relay that ends normally removes
/// it.
///
/// Writes on a queue, because the socket loop must not wait for a disk. A write is enqueued before a connection begins,
/// and takes less time than the connection's first response. For a first address that was never
/// blamed and is tried beside its backup, it is enqueued before the relay handles the first media.
final class PullRecord {
    /// Largest accepted file, in bytes.
    static let largest = 1 << 20

    private let path: String
    private let queue: DispatchQueue
    private var written: [SourceID: SourceQuarantine.Record] = [:]

    init(path: String, queue: DispatchQueue) {
        self.path = path
        self.queue = queue
    }

    /// Returns the records of an earlier relay; empty if there is no readable file.
    func read() -> [SourceID: SourceQuarantine.Record] {
        guard let file = FileHandle(forReadingAtPath: path) else { return [:] }
        defer { try? file.close() }
        guard let data = try? file.read(upToCount: Self.largest) else { return [:] }
        let records = try? JSONDecoder().decode([String: SourceQuarantine.Record].self, from: data)
        written = Dictionary((records ?? [:]).map { (SourceID($0), $1) }, uniquingKeysWith: { first, _ in first })
        return written
    }

    /// Writes the records if they differ from the last written ones. A failed write costs only the protection.
    func write(_ records: [SourceID: SourceQuarantine.Record]) {
        guard records != written else { return }
        written = records
        // Names that differ in bytes may be equal as strings.
        let named = Dictionary(records.map { ($0.rawValue, $1) }, uniquingKeysWith: { first, _ in first })
        queue.async { [path] in
            guard let data = try? JSONEncoder().encode(named) else { return }
            try? data.write(to: URL(fileURLWithPath: path), options: .atomic)
        }
    }

    /// Removes the file, after the last write.
    func remove() { queue.async { [path] in unlink(path) } }
}
