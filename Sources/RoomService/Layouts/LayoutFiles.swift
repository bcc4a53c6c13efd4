import Foundation
import LayoutEngine

/// The files `{name}.json` of one directory. Calls block, so they must not run in the cooperative pool; see `offPool`.
package struct LayoutFiles: Sendable {
    /// Absolute path of the directory.
    package let directory: String

    package init(directory: String) {
        self.directory = directory
    }

    /// Largest file read, in bytes.
    package static let longestFile = 256 << 10
    /// Name of the schema, a file beside the layouts that is not a layout.
    package static let schema = "layout.schema"

    /// The identity of a file's content. Writing a file changes its stamp.
    struct Stamp: Hashable, Sendable {
        var seconds: Int
        var nanoseconds: Int
        var size: Int
        var inode: UInt64
        var device: UInt64

        init(_ info: stat) {
            seconds = info.st_mtim.tv_sec
            nanoseconds = info.st_mtim.tv_nsec
            size = Int(info.st_size)
            inode = UInt64(info.st_ino)
            device = UInt64(info.st_dev)
        }
    }

    /// Returns whether a layout can have this name: 1 to 64 of a-z, A-Z, 0-9, `-` and `_`, so that it stays in the directory.
    package static func isName(_ name: String) -> Bool {
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

    package static let nameRule =
        "1 to 64 characters from a-z, A-Z, 0-9, - and _, other than \"\(LayoutLibrary.automaticName)\""

    /// Returns the name of the layout in a file of this name; `nil` for all other files.
    package static func layout(ofFile file: some StringProtocol) -> String? {
        guard file.hasSuffix(".json"), !file.hasPrefix(".") else { return nil }
        let name = String(file.dropLast(5))
        return isName(name) && name != LayoutLibrary.automaticName ? name : nil
    }

    package func path(of name: String) -> String { "\(directory)/\(name).json" }

    /// Returns the layouts that have a file, and the files that look like layouts but have unusable names.
    package func list() -> (layouts: Set<String>, misnamed: Set<String>) {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        let json = files.filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") && $0 != Self.schema + ".json" }
        return (
            Set(json.compactMap(Self.layout)), Set(json.filter { Self.layout(ofFile: $0) == nil })
        )
    }

    /// Returns the stamp of a layout's file; `nil` when there is no file.
    func stamp(of name: String) -> Stamp? {
        var info = stat()
        return stat(path(of: name), &info) == 0 ? Stamp(info) : nil
    }

    package func read(_ name: String) -> LayoutReading {
        let file = path(of: name)
        let content: [UInt8]
        do {
            content = try BoundedFile.read(file, limit: Self.longestFile)
        } catch BoundedFile.Failure.notThere {
            return .gone
        } catch {
            return .bad(LayoutProblem(file: file, reason: "\(error)"))
        }
        do {
            return .good(try LayoutTemplate.decode(content, name: name), content: content)
        } catch {
            return .bad(LayoutProblem(file: file, error))
        }
    }

    /// Writes a file that `replace` later moves to the layout's place, so that readers never see a partial file.
    ///
    /// - Throws: `OrchestratorError` when the directory cannot be written.
    func prepare(_ content: [UInt8], name: String) throws(OrchestratorError) -> PreparedFile {
        let target = path(of: name)
        let temporary = "\(directory)/.\(name).\(UInt32.random(in: 0 ... .max))"
        var info = stat()
        let mode = stat(target, &info) == 0 ? info.st_mode & 0o777 : 0o644
        do {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try BoundedFile.write(content, to: temporary, mode: mode)
        } catch {
            unlink(temporary)
            throw Self.notWritable(target)
        }
        return PreparedFile(temporary: temporary, target: target)
    }

    /// - Returns: Whether there was a file.
    package func delete(_ name: String) throws(OrchestratorError) -> Bool {
        if unlink(path(of: name)) == 0 { return true }
        guard errno == ENOENT else { throw Self.notWritable(path(of: name)) }
        return false
    }

    package static func notWritable(_ file: String) -> OrchestratorError {
        OrchestratorError(
            .failed, "layouts-not-writable", "The layout cannot be stored",
            detail: "\(file) cannot be written: give the directory to the user that runs this service")
    }

    /// A file on disk that is ready to replace another one. Use it once.
    struct PreparedFile: Sendable {
        fileprivate let temporary: String
        fileprivate let target: String

        func replace() throws(OrchestratorError) {
            guard rename(temporary, target) == 0 else {
                unlink(temporary)
                throw LayoutFiles.notWritable(target)
            }
        }

        func discard() { unlink(temporary) }
    }
}
