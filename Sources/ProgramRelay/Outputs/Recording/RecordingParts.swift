import EncodedMedia
import Foundation
import MixModel

/// The parts of one recording on the disk, by their numbers. Used by one thread; blocks on the disk.
struct RecordingParts {
    private let settings: RecorderSettings
    private let stem: String

    /// Largest number of a part: parts of 10 s, the shortest, for four months.
    static let most = 1_000_000

    init(_ settings: RecorderSettings) {
        self.settings = settings
        stem = settings.stem
    }

    private var directory: String { settings.recording.directory }

    func path(_ number: Int) -> String { directory + "/" + settings.fileName(part: number) }

    func manifestPath(_ number: Int) -> String { path(number).dropLast(4) + ".json" }

    func manifest(_ number: Int) -> RecordingManifest? {
        FileManager.default.contents(atPath: manifestPath(number)).flatMap {
            try? JSONDecoder().decode(RecordingManifest.self, from: $0)
        }
    }

    /// The numbers in use, in order. Any of them may be missing, because parts can be deleted while the recording goes
    /// on. A part that was removed after its upload still has a manifest, which keeps its number reserved.
    var numbers: [Int] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return Set(names.compactMap { number(of: $0) }).sorted()
    }

    /// Returns the number of the part to which a file or manifest belongs; `nil` for the name of any other file.
    func number(of name: String) -> Int? {
        guard name.utf8.starts(with: stem.utf8) else { return nil }
        let rest = String(decoding: name.utf8.dropFirst(stem.utf8.count), as: UTF8.self)
        guard let end = [".mp4", ".json"].first(where: { rest.hasSuffix($0) }) else { return nil }
        let mark = String(rest.dropLast(end.count))
        if mark.isEmpty { return 1 }
        guard mark.utf8.first == UInt8(ascii: "-"), let number = Int(mark.dropFirst()), 2...Self.most ~= number,
            mark.utf8.elementsEqual("-\(number)".utf8)
        else { return nil }
        return number
    }

    /// Returns the duration in seconds and the size in bytes of some parts together, by their manifests.
    func total(of numbers: some Sequence<Int>) -> (seconds: Double, bytes: Int64) {
        var total = (seconds: 0.0, bytes: Int64(0))
        for number in numbers {
            guard let manifest = manifest(number) else { continue }
            // Bounded, because a manifest may be damaged.
            total.seconds += manifest.duration.boundedSeconds
            total.bytes = total.bytes.saturatingSum(manifest.bytes.boundedCount)
        }
        return total
    }

    /// Creates a directory and its parents, for this user only.
    /// - Returns: 0, or -1 with `errno` set.
    static func makeDirectory(_ path: String) -> Int32 {
        if mkdir(path, 0o700) == 0 || errno == EEXIST { return 0 }
        guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return -1 }
        guard makeDirectory(String(path[..<slash])) == 0 else { return -1 }
        return mkdir(path, 0o700) == 0 || errno == EEXIST ? 0 : -1
    }
}
