import Foundation
import LayoutEngine
import Logging
import Synchronization

/// The layouts that operators keep as `{name}.json` in one directory. Thread-safe.
///
/// A file that changed is read again when a room uses it and by `refresh`; a broken one leaves the last good version in
/// use and is reported once.
final class LayoutDirectory: Sendable {
    private let path: String
    private let logger: Logger
    private let state: Mutex<State>

    private struct State {
        var library = LayoutLibrary()
        /// Modification time and size of the files that were read, by name: good ones and broken ones.
        var stamps: [String: Stamp] = [:]
        /// Layouts that are different since `refresh` told.
        var changed: Set<String> = []
    }
    private struct Stamp: Hashable {
        var seconds: Int
        var nanoseconds: Int
        var size: Int
        var inode: UInt
    }

    /// Largest file read, in bytes.
    static let longestFile = 1 << 20

    init(path: String, logger: Logger) {
        self.path = path
        self.logger = logger
        state = Mutex(State())
        if !FileManager.default.fileExists(atPath: path) {
            logger.warning("there is no layouts directory at \(path): only the layout \"auto\" can be used")
        }
        _ = refresh()
    }

    /// Whether a layout can be called so: 1 to 64 of a-z, A-Z, 0-9, `-` and `_`, so that it stays in the directory.
    static func isName(_ name: String) -> Bool {
        1...64 ~= name.utf8.count
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    var names: [String] { state.withLock { $0.library.names } }

    func contains(_ name: String) -> Bool {
        state.withLock { state in
            reload(name, &state)
            return state.library[name] != nil
        }
    }

    func suggestion(for name: String) -> String? { state.withLock { $0.library.suggestion(for: name) } }

    /// The layout, from the newest good version of its file. A layout that is gone becomes `auto`.
    func template(_ name: String) -> LayoutTemplate {
        state.withLock { state in
            reload(name, &state)
            return state.library[name] ?? state.library[LayoutLibrary.automaticName]
                ?? LayoutTemplate(name: name, arrangements: [])
        }
    }

    /// Reads what changed in the directory.
    ///
    /// - Returns: The names of layouts that are different since the last call, whoever noticed it first.
    func refresh() -> [String] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        let names = files.filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") && $0 != "layout.schema.json" }
            .map { String($0.dropLast(5)) }
        return state.withLock { state in
            for name in Set(names).union(state.stamps.keys) { reload(name, &state) }
            defer { state.changed = [] }
            return state.changed.sorted()
        }
    }

    /// Checks and stores a layout so that a reader never sees half of it.
    ///
    /// - Throws: `LayoutError` with all errors, or `OrchestratorError` when the directory cannot be written.
    func store(_ bytes: [UInt8], name: String) throws {
        _ = try LayoutTemplate.decode(bytes, name: name)
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try Data(bytes).write(to: URL(fileURLWithPath: file(name)), options: .atomic)
        } catch {
            throw OrchestratorError(
                .internalServerError, "layouts-not-writable", "The layout cannot be stored",
                detail: "\(file(name)) cannot be written: give the directory to the user that runs this service")
        }
        state.withLock { state in reload(name, &state) }
    }

    private func file(_ name: String) -> String { "\(path)/\(name).json" }

    private func reload(_ name: String, _ state: inout State) {
        guard Self.isName(name), name != LayoutLibrary.automaticName else { return }
        var info = stat()
        guard stat(file(name), &info) == 0 else {
            guard state.stamps.removeValue(forKey: name) != nil else { return }
            state.library.remove(name)
            state.changed.insert(name)
            return
        }
        let stamp = Stamp(
            seconds: info.st_mtim.tv_sec, nanoseconds: info.st_mtim.tv_nsec, size: Int(info.st_size),
            inode: UInt(info.st_ino))
        guard state.stamps[name] != stamp else { return }
        state.stamps[name] = stamp
        do {
            guard info.st_size <= Self.longestFile, let data = FileManager.default.contents(atPath: file(name)) else {
                throw StartupError("\(file(name)) cannot be read, or has more than \(Self.longestFile) bytes")
            }
            let before = state.library[name]
            try state.library.load(data, name: name)
            if state.library[name] != before { state.changed.insert(name) }
        } catch {
            logger.error("layout \(name) is not used: \(error)")
        }
    }
}
