import MixModel

/// The files of pages: `pages/` in the data directory.
package typealias PageFiles = WorkerFiles<PageRecord>

extension PageFiles {
    private static let folder = "pages"

    /// Whether an earlier run has left files.
    static func exist(in data: String) -> Bool { exist(in: data, name: folder) }

    /// - Throws: `StartupError` if the directory cannot be made, or its path is too long for sockets.
    package init(data: String) throws(StartupError) {
        try self.init(data: data, name: Self.folder, longestRecord: 256 << 10)
    }
}

/// What a later run of the service has to know of a page.
package struct PageRecord: Hashable, Codable, Sendable {
    /// Text of the `IngestStreamKey`.
    var stream: String
    var job: PageJob
}
