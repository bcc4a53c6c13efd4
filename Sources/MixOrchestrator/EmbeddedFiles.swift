import CEmbeddedFiles
import HTTPInterface

/// Files of the repository that are embedded in the binary, as they were when the program was built.
enum EmbeddedFiles {
    /// The bytes of every file by its path in the repository.
    private static let files: [String: [UInt8]] = {
        var count = 0
        let list = UnsafeBufferPointer(start: embedded_files(&count), count: count)
        return Dictionary(
            uniqueKeysWithValues: list.map { file in
                (String(cString: file.path), Array(UnsafeBufferPointer(start: file.bytes, count: file.count)))
            })
    }()

    static var paths: Set<String> { Set(files.keys) }

    /// Returns the bytes of a file of the list in embedded_files.c.
    static func bytes(of path: String) -> [UInt8] {
        guard let bytes = files[path] else { preconditionFailure("\(path) is not in embedded_files.c") }
        return bytes
    }

    private static let assetFolder = "pages/assets/"

    /// The schema of layouts, from which the console completes keys and values.
    private static let schema = "layouts/layout.schema.json"

    /// The files that pages load, with their names below `/assets/`.
    static var assets: [WebAsset] {
        let pages = files.filter { $0.key.hasPrefix(assetFolder) }.map { path, bytes in
            WebAsset(name: String(path.dropFirst(assetFolder.count)), bytes: bytes)
        }
        return pages + [WebAsset(name: "layout.schema.json", bytes: bytes(of: schema))]
    }
}
