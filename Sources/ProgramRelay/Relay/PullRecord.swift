import Dispatch
import Foundation
import MixModel
import ProgramSplicer

/// The file beside a relay's socket in which `SourceQuarantine` outlives a crash. A relay that ends as it should leaves
/// none.
///
/// Writes on a queue, because the socket loop must not wait for a disk. A write is handed over before a connection is
/// begun, and takes less time than the connection's first answer.
final class PullRecord {
    /// Largest file that is read, in bytes.
    static let largest = 1 << 20

    private let path: String
    private let queue: DispatchQueue
    private var written: [SourceID: SourceQuarantine.Record] = [:]

    init(path: String, queue: DispatchQueue) {
        self.path = path
        self.queue = queue
    }

    /// Returns what an earlier relay has left; nothing if there is no file, or none that can be read.
    func read() -> [SourceID: SourceQuarantine.Record] {
        guard let file = FileHandle(forReadingAtPath: path) else { return [:] }
        defer { try? file.close() }
        guard let data = try? file.read(upToCount: Self.largest) else { return [:] }
        let records = try? JSONDecoder().decode([String: SourceQuarantine.Record].self, from: data)
        written = Dictionary((records ?? [:]).map { (SourceID($0), $1) }, uniquingKeysWith: { first, _ in first })
        return written
    }

    /// Writes the records if they differ from those written last. A failed write costs only the protection.
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
